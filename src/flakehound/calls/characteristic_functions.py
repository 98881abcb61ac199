"""Characteristic functions: a call suggests that the test is flaky, and for which cause.

They are written as `module:Class.function`, see `name_patterns.pattern_from`. The tables lack what no tracer sees:
iterating over a set or a dict calls no function, and neither does comparing floats.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from flakehound.calls.name_patterns import matches_name, pattern_from
from flakehound.core.calls import Function, FunctionPattern
from flakehound.core.verdicts import Cause

# The manual selection of CALLS (table A.1). CALLS writes `type.now`: a class method of a type.
MANUAL_FUNCTIONS: dict[Cause, tuple[str, ...]] = {
    Cause.ASYNC_WAIT: ("Condition.wait",),
    Cause.RANDOMNESS: ("Random.*", "RandomState.*"),
    Cause.NETWORK: ("socket.__init__", "create_connection"),
    Cause.TIME: ("datetime:datetime.now",),
    Cause.IO: ("open",),
    Cause.CONCURRENCY: ("start_new_thread",),
}

# Further functions that today's code uses.
MODERN_FUNCTIONS: dict[Cause, tuple[str, ...]] = {
    Cause.ASYNC_WAIT: (
        "time:sleep", "asyncio:sleep", "asyncio:wait_for", "asyncio:wait", "asyncio:as_completed",
        "asyncio:timeout", "threading:Event.wait", "threading:Barrier.wait", "concurrent.futures:wait",
        "concurrent.futures:as_completed", "concurrent.futures:Future.result", "trio:sleep", "anyio:sleep",
        "queue:Queue.get", "_queue:SimpleQueue.get", "select:select", "select:poll.poll", "select:epoll.poll",
    ),
    Cause.CONCURRENCY: (
        "_thread:start_joinable_thread", "threading:Thread.start", "concurrent.futures:ThreadPoolExecutor.submit",
        "concurrent.futures:ProcessPoolExecutor.submit", "multiprocessing:BaseProcess.start", "posix:fork",
        "asyncio:create_task", "asyncio:gather", "asyncio:ensure_future", "asyncio:TaskGroup.create_task",
        "asyncio:BaseEventLoop.create_task", "asyncio:BaseEventLoop.run_in_executor", "asyncio:to_thread",
        "subprocess:Popen.__init__",
    ),
    Cause.RANDOMNESS: (
        "numpy.random:Generator.*", "numpy.random:default_rng", "numpy.random:SeedSequence.*", "secrets:*",
        "uuid:uuid4", "uuid:uuid1", "posix:urandom", "random:SystemRandom.*", "torch:rand", "torch:randn",
        "torch:randint", "torch:randperm",
    ),
    Cause.NETWORK: (
        "_socket:socket.connect", "_socket:socket.connect_ex", "_socket:socket.sendto", "_socket:getaddrinfo",
        "_socket:gethostbyname", "socket:getaddrinfo", "requests:Session.request", "requests:Session.send",
        "urllib3:HTTPConnectionPool.urlopen", "urllib3:PoolManager.urlopen", "httpx:Client.send",
        "httpx:AsyncClient.send", "urllib.request:urlopen", "urllib.request:OpenerDirector.open",
        "http.client:HTTPConnection.connect", "aiohttp:ClientSession._request", "smtplib:SMTP.connect",
        "ftplib:FTP.connect", "paramiko:Transport.connect", "asyncio:open_connection",
        "asyncio:BaseEventLoop.create_connection", "asyncio:BaseEventLoop.getaddrinfo",
    ),
    Cause.TIME: (
        "time:time", "time:time_ns", "time:monotonic", "time:monotonic_ns", "time:perf_counter",
        "time:perf_counter_ns", "time:process_time", "time:localtime", "time:gmtime", "time:ctime",
        "datetime:datetime.utcnow", "datetime:datetime.today", "datetime:date.today", "pandas:Timestamp.now",
    ),
    Cause.IO: (
        "_io:open_code", "posix:open", "posix:mkdir", "posix:rename", "posix:replace", "posix:remove",
        "posix:unlink", "posix:rmdir", "sqlite3:connect", "_sqlite3:connect", "tempfile:mkstemp",
        "tempfile:mkdtemp", "shutil:rmtree", "shutil:copyfile", "shutil:move",
    ),
    # No file system guarantees the order in which it lists its entries.
    Cause.UNORDERED_COLLECTION: (
        "posix:listdir", "posix:scandir", "glob:glob", "glob:iglob", "pathlib:Path.iterdir",
    ),
    Cause.FLOATING_POINT: ("numpy:dot", "numpy.linalg:*", "numpy:ndarray.dot", "numpy:matmul"),
    Cause.RESOURCE_LEAK: (
        "gc:collect", "gc:get_objects", "tracemalloc:take_snapshot", "tracemalloc:get_traced_memory",
        "sys:getrefcount", "resource:getrusage", "psutil:Process.memory_info", "psutil:Process.open_files",
        "psutil:Process.num_fds", "_weakref:getweakrefcount",
    ),
}  # fmt: skip

# The causes that CALLS assigned to automatically selected functions (table A.4). None has those without a cause:
# cryptic functions. Classes are written without their module, as in the table.
ASSIGNED_CAUSES: dict[Cause | None, tuple[str, ...]] = {
    Cause.IO: (
        "bytes.count", "CaptureIO.seek", "CaptureIO.truncate", "DirEntry.is_file", "PosixPath._init",
        "StringIO.flush", "StringIO.getvalue", "TextIOWrapper.readlines", "generate_alias", "mkdir",
    ),
    Cause.FLOATING_POINT: (
        "complex128.reshape", "ndarray.__array_prepare__", "_diag_dispatcher", "dot",
    ),
    Cause.CONCURRENCY: (
        "coroutine.send", "ForkContext.SimpleQueue", "_excepthook", "exec", "start_new_thread",
    ),
    Cause.TIME: ("datetime.utcoffset", "UTC.fromutc"),
    Cause.NETWORK: (
        "MediaWiki._load_page", "str.encode", "_report_hook", "ascii", "getdefaulttimeout", "isenabled",
    ),
    Cause.RANDOMNESS: (
        "Random.getrandbits", "Random.random", "RandomParser.get", "RandomState.binomial",
        "RandomState.chisquare", "RandomState.multinomial", "RandomState.multivariate_normal",
        "RandomState.rand", "RandomState.randn",
    ),
    Cause.ASYNC_WAIT: ("perf_counter", "sleep"),
    None: (
        "AveragedFunction.diffse", "BlockManager._rebuild_blkno_and_blklocs", "bytes.rstrip",
        "FASTA_error.with_traceback", "FontMathWarning.with_traceback", "frozenset.__contains__", "int64.any",
        "Match.end", "NoneType.take_2d_axis0_float64_float64",
        "SelectSubjectRawDatasetReader._assert_input_dict", "str.replace", "str.rstrip", "String.__reduce_ex__",
        "collect", "get_titles", "int", "locals", "pow", "search", "test_forward",
    ),
}  # fmt: skip

# Modules and packages that call such functions for their own purposes: the time of a log record, the name of a
# temporary file, the clock of an event loop. Their own characteristic functions are in the tables above.
NEUTRAL_MODULES = (
    "logging", "warnings", "linecache", "traceback", "tokenize", "inspect", "importlib", "tempfile", "mock",
    "unittest", "_pytest", "pluggy", "asyncio", "threading", "queue", "concurrent", "multiprocessing",
    "subprocess", "selectors", "socket", "http", "urllib", "urllib3", "requests", "httpx", "httpcore", "ssl",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class CharacteristicPattern:
    """A pattern of functions, and the cause that their calls suggest."""

    pattern: FunctionPattern
    cause: Cause


@dataclass(frozen=True, kw_only=True)
class CharacteristicFunctions:
    """A set of characteristic functions."""

    entries: tuple[CharacteristicPattern, ...]
    neutral: tuple[str, ...] = NEUTRAL_MODULES

    @cached_property
    def _by_name(self) -> dict[str, list[CharacteristicPattern]]:
        by_name: dict[str, list[CharacteristicPattern]] = {}
        for entry in self.entries:
            by_name.setdefault(entry.pattern.name, []).append(entry)
        return by_name

    @property
    def patterns(self) -> tuple[FunctionPattern, ...]:
        """The functions that a tracer has to look for."""
        return tuple(entry.pattern for entry in self.entries)

    def cause_of(self, function: Function) -> Cause | None:
        """The cause that a call suggests, by the first entry that matches; None: not a characteristic function."""
        candidates = self._by_name.get(function.name, []) + self._by_name.get("*", [])
        return next((entry.cause for entry in candidates if matches_name(entry.pattern, function)), None)

    def with_additions(
        self, entries: Iterable[CharacteristicPattern], neutral: Iterable[str] = ()
    ) -> CharacteristicFunctions:
        """The same set with a user's own entries, which come first."""
        return CharacteristicFunctions(entries=(*entries, *self.entries), neutral=(*self.neutral, *neutral))


def entries_of(table: dict[Cause, tuple[str, ...]]) -> tuple[CharacteristicPattern, ...]:
    """The entries of one of the tables above."""
    return tuple(
        CharacteristicPattern(pattern=pattern_from(text), cause=cause)
        for cause, texts in table.items()
        for text in texts
    )


def manual_selection() -> CharacteristicFunctions:
    """The manual selection of CALLS."""
    return CharacteristicFunctions(entries=entries_of(MANUAL_FUNCTIONS))


def default_functions() -> CharacteristicFunctions:
    """The modern functions, which are more specific, and then the manual selection of CALLS."""
    return CharacteristicFunctions(entries=entries_of(MODERN_FUNCTIONS) + entries_of(MANUAL_FUNCTIONS))


def assigned_cause(function: Function) -> Cause | None:
    """The cause of a function by the table of CALLS, or else by the default functions; None: cryptic."""
    name = f"{function.owner}.{function.name}" if function.owner else function.name
    for cause, texts in ASSIGNED_CAUSES.items():
        if name in texts:
            return cause
    return _DEFAULT.cause_of(function)


_DEFAULT = default_functions()
