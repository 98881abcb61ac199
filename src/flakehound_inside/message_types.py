"""The types of JSON objects that processes exchange; only for the type checker, no run imports this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol, TypedDict

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Callable, Literal

    # As in the `_signal` module; None: set by C code.
    SignalHandler = Callable[[int, FrameType | None], Any] | int | None
    NumberedOrder = list[int | None]  # positions among the collected items; None: a test that was not collected


class PerTestObserver(Protocol):
    """Reports something about each test, in a separate event line."""

    letter: str  # of the event line, see `events`

    def begin_test(self) -> None:
        """Called right before a test runs."""

    def report(self) -> object:
        """What was observed about the test that has just run, as values for JSON."""


class MeasureRequest(TypedDict, total=False):
    """The request to measure the features of every test."""

    lines: bool  # whether covered lines are measured; they cost most
    churn: str | None  # file with the number of changes of each line, see features.meter; None: not known


class TimeLimits(TypedDict, total=False):
    """How long a process and each of its tests may take; None: no limit."""

    run_limit_s: float | None
    test_limit_s: float | None
    collection_limit_s: float  # in addition, for the first test
    measure: MeasureRequest | None  # None: features are not measured


class SupervisedRun(TimeLimits):
    """What the parent of a process that runs tests needs to supervise it."""

    events: str  # path of the log that contains the start of each test


class _RunDetails(TypedDict, total=False):
    states: bool  # whether to report what each test leaves changed
    seed: int | None
    self_seeded: list[str]  # generators that the project seeds itself
    memory_bytes: int | None  # address space; None: no limit
    ids: list[str]  # for a new interpreter, which has not collected yet; empty: the whole suite
    slot: str  # the number of the slot, which sets it itself
    id: int  # of the request; this and the next three for a slot only
    branches: list[NumberedOrder]
    until: str  # stop after the branch that ends with this outcome: P or F; empty: run all branches
    at: list[int]  # how many tests of the order each branch follows; empty: all of them
    trace: TraceRequest | None  # None: calls are not traced
    random_state: str | None  # file with the state from which the last test starts, see RandomState


class TraceRequest(TypedDict):
    """The request to trace which functions tests call."""

    mode: Literal["all", "characteristic"]
    counts: bool  # whether to count every call; False: one call of each function is enough
    wanted: list[list[str]]  # module, class, function; see calls.names.FunctionPatterns
    neutral: list[str]  # modules whose own calls of wanted functions do not count


class RunRequestByIds(SupervisedRun, _RunDetails):
    """The request to run tests that are given by their ids."""

    output: str  # the file it prints into
    tmp: str  # the folder of its temporary files; a slot chooses it itself


class RunRequest(RunRequestByIds):
    """The request to run tests that are given by their position among the collected items."""

    order: NumberedOrder


class RandomState(TypedDict):
    """The state of the global random generators at one moment."""

    random: list[Any]  # as random.getstate: version, numbers, the next gauss
    numpy: list[Any] | None  # as numpy.random.get_state, legacy; None: not loaded
    seed: int | None  # from which pytest-randomly seeds every test; None: it does not


class RecordRequest(TypedDict):
    """The request to record what a test depends on."""

    path: str  # the file to write
    files: list[str] | None  # whose executed lines are recorded; None: every file below the root
    root: str


class _ModeSettings(TypedDict, total=False):
    collecting: str  # the file for reports on how far the collection is; missing: nobody reads them
    moved: list[str] | None  # two folders, see worker.moved_imports; None: imports stay as they are
    env_of_collection: list[str]  # environment variables that no test may see
    # mode "once"
    request: RunRequestByIds
    peer: int  # descriptor of the socket to the engine
    watch: str | None  # folder for notes on the files that a plain run writes; None: not noted
    record: RecordRequest | None
    ours: str  # folder with files of flakehound, not of the suite
    # mode "serve"
    force_fork: bool
    folder: str
    control: int  # descriptor of the socket that closes when the engine is done
    slots: list[int]  # descriptor of each slot's socket


class PytestSessionSettings(_ModeSettings):
    """The settings with which the engine starts a pytest session."""

    mode: Literal["once", "serve"]
    handshake: str  # the file to write once the suite is collected
    keep_plugins: list[str]


class ProcessEnd(TypedDict):
    """How a process ended, and what it used."""

    code: int | None  # None: ended by a signal
    signal: int | None  # None: not ended by a signal
    cut: str  # the limit at which it was ended, or "cancelled"; empty: neither
    wall_s: float
    cpu_s: float
    queued_s: float  # its first thread waited for a core
    max_rss_bytes: int


class _OutputTail(TypedDict, total=False):
    output: str  # only of a process that ended with an error


class SlotReply(_OutputTail):
    """The answer of a slot to a request; its event lines follow."""

    id: int
    ended: ProcessEnd
    events: int  # number of bytes that follow
