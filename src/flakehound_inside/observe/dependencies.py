"""Record what a test depends on, from before pytest is imported to after the last teardown.

Writes `flakehound/dependencies/1` (docs/decisions/0015) and beside it `folders`, into which the test reaches: a
file added or deleted there may matter though nothing opened it, see `opened`; and `settings`, the part of `opened`
that pytest itself read as configuration. When in doubt it says so; a process that dies writes nothing.
"""

from __future__ import annotations

import importlib.util
import os
import stat
import sys
import threading
import types
import warnings
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.audit import Listener

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any, Iterable, Iterator

    from flakehound_inside.message_types import Record

NAME = "flakehound-dependencies"  # as the plugin manager knows it
_NATIVE = (".so", ".pyd", ".dll", ".dylib")
_OF_THE_SYSTEM = ("/proc/", "/dev/", "/sys/")
_CACHES = ("/__pycache__/", "/.pytest_cache/")
_namespace: Any = vars(types.ModuleType)["__dict__"]  # asks no lazy module to load itself


class Dependencies:
    """A pytest plugin that listens and traces until the test is over, then writes what it saw."""

    def __init__(self, wish: Record, ours: str) -> None:
        self.__name__ = NAME
        self._path = wish["path"]
        self._places = Places(wish["root"], ours)
        self._lines = Lines(wish["files"], self._places)
        self._listener = Listener(self._places, self._lines)
        self._process = isolated_os.getpid()
        self._finished = False

    def start(self) -> None:
        """Record from now on."""
        self._before = dict(_module_files())
        self._threads = set(threading.enumerate())
        self._processes = processes_made()
        self._listener.start()

    def pytest_collection_finish(self) -> None:
        """From here on whatever happens is the test's doing."""
        with self._listener.deaf():
            self._lines.prepare()
        self._listener.in_tests = True

    def pytest_unconfigure(self) -> None:
        """Write also when pytest ends before it runs a test."""
        self.finish()

    def finish(self) -> None:
        """Stop and write, once, and only in the process that was asked to."""
        if self._finished or isolated_os.getpid() != self._process:
            return
        self._finished = True
        self._listener.end()
        try:
            told = self._told()
        except Exception as error:  # a test may leave anything behind, and its outcome counts all the same
            told = {"doubts": ["recording failed: %s: %s" % (type(error).__name__, error)]}
        try:
            self._write(isolated_os.dumps(told).encode("ascii"))
        except OSError:
            return  # nothing written is a doubt, too

    def _write(self, payload: bytes) -> None:
        file = isolated_os.open(self._path + ".part", os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            while payload:
                payload = payload[isolated_os.write(file, payload) :]
        finally:
            isolated_os.close(file)
        os.replace(self._path + ".part", self._path)

    def _told(self) -> dict[str, object]:
        heard, places = self._listener, self._places
        imported = self._imported()
        files = {file for file in imported.values() if file and not places.is_library(file)}
        opened, listed = set(map(os.path.realpath, heard.opened)), set(map(os.path.realpath, heard.listed))
        doubts = list(self._doubts(files))
        for path in map(os.path.realpath, heard.linked):
            if os.path.isdir(path) and places.is_project(path):
                doubts.append("it links to %s, and may read there under another name" % path)
            elif os.path.isfile(path):
                opened.add(path)
        lines = self._lines.stop()
        self._count_whole_files(lines, files)
        return {
            "lines": {file: sorted(numbers) for file, numbers in sorted(lines.items())},
            "imported": imported,
            "attempted": sorted(heard.attempted.union(heard.loaded.values(), sys.modules)),
            "opened": sorted(opened),
            "listed": sorted(listed),
            "folders": sorted(listed.union(map(os.path.dirname, opened.union(files)))),
            "settings": sorted(set(map(os.path.realpath, heard.settings))),
            "doubts": list(heard.doubts) + doubts + self._lines.doubts,
        }

    def _imported(self) -> dict[str, str | None]:
        """Every module; of two with one name the one that was replaced is called after its file."""
        found = {name: self._places.real(file) if file else None for name, file in _module_files()}
        for file, name in self._listener.loaded.items():
            file = self._places.real(file)
            if found.setdefault(name, file) != file:
                found["%s (%s)" % (name, file)] = file
        return found

    def _doubts(self, imported: Iterable[str]) -> Iterator[str]:
        native = {self._places.real(path) for path in self._listener.native}
        native.update(path for path in imported if path.endswith(_NATIVE))
        for path in sorted(native):
            if self._places.is_project(path):
                yield "it loads %s, native code that is not traced" % path
        if processes_made() != self._processes:
            # The spawn method of multiprocessing raises no event.
            yield "it started a process: multiprocessing"
        left = set(threading.enumerate()).difference(self._threads)
        if left:
            yield "threads still run: " + ", ".join(sorted(thread.name for thread in left)[:5])

    def _count_whole_files(self, lines: dict[str, set[int]], imported: Iterable[str]) -> None:
        """Take every line for executed of files that ran unseen.

        Modules loaded before us did, and those of which the tracer saw nothing: pytest may keep a module compiled
        under the name that its folder had before it was moved.
        """
        early = {self._places.real(file) for file in self._before.values() if file}
        unseen = {file for file in imported if file not in lines}
        for file in early.union(unseen):
            if self._lines.is_asked(file) and os.path.isfile(file):
                with open(file, "rb") as source:
                    lines[file] = set(range(1, source.read().count(b"\n") + 2))


class Places:
    """Which files are the project's, which the environment's, which ours; told by their real paths."""

    def __init__(self, root: str, ours: str) -> None:
        self._real: dict[str, str] = {}  # by folder
        self._root = _folders([root])
        self._ours = _folders([ours])
        self._standard = _folders([os.path.dirname(os.__file__)])
        installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
        self._installed = _folders(installed)
        # Whoever tests what is installed has the project there.
        self._libraries = tuple(
            path for path in self._standard + self._installed if not self._root[-1].startswith(path)
        )

    def is_library(self, path: str) -> bool:
        """Whether a file belongs to Python or to an installed package."""
        return path.startswith(self._libraries)

    def is_project(self, path: str) -> bool:
        """Whether a file lies below the root and is no installed one."""
        return path.startswith(self._root) and not self.is_library(path)

    def is_passed_over(self, path: str) -> bool:
        """Whether no change of the project can be in a file, nor in what it is a copy of."""
        return (
            path.startswith(self._ours)
            or path.startswith(_OF_THE_SYSTEM)
            or (path.startswith(self._standard) and not path.startswith(self._installed + self._root))
            or any(part in path for part in _CACHES)
        )

    def real(self, path: str) -> str:
        """The path of a source without links; their folders are few, and an editable install may be a link."""
        folder, name = os.path.split(path)
        if folder not in self._real:
            self._real[folder] = os.path.realpath(folder)
        path = os.path.join(self._real[folder], name)
        try:
            is_link = stat.S_ISLNK(isolated_os.lstat(path).st_mode)
        except (OSError, ValueError):  # "<string>" and the like
            return path
        return os.path.realpath(path) if is_link else path

    def patterns(self) -> tuple[list[str], list[str]]:
        """What to trace, and what of it not, as coverage wants to be told."""
        below = [path for path in self._libraries if path.startswith(self._root)]
        return [_pattern(path) + "*" for path in self._root], [_pattern(path) + "*" for path in below]


class Lines:
    """Which lines run, by coverage.py: with sys.monitoring where Python has it, else with a trace function.

    Traces from the moment when the first file asked for is loaded: nothing of it can run before, and a trace
    function slows down everything, pytest's own start too. Loaded before the first test, as a rule; so whatever
    else is needed is prepared before a test can have mocked it.
    """

    def __init__(self, files: list[str] | None, places: Places) -> None:
        self._files = None if files is None else frozenset(map(os.path.realpath, files))
        self._places = places
        self._is_possible = self._files != frozenset()
        self._coverage: Any = None  # None: not loaded yet
        self._state: tuple[object, ...] | None = None  # of the process, once it is traced
        self.doubts: list[str] = []

    def is_asked(self, path: str) -> bool:
        """Whether somebody wants to know what runs in a file, given by its real path."""
        return self._places.is_project(path) if self._files is None else path in self._files

    def waits_for(self, path: str) -> bool:
        """Whether it is time to begin: code of a file is about to run, the first of those asked for."""
        if self._state is not None or not self._is_possible or path.startswith("<"):
            return False
        return self.is_asked(self._places.real(path))

    def begin(self) -> None:
        """Trace from now on; a doubt where that cannot be."""
        if self._start():
            self._state = _tracing_state()
            others = [thread for thread in threading.enumerate() if thread is not threading.current_thread()]
            if self.has_trace_function and others:
                names = ", ".join(thread.name for thread in others[:5])
                self.doubts.append("threads ran before anything was traced: " + names)

    def prepare(self) -> None:
        """Do what takes time or could go wrong while a test runs."""
        if self._state is None and self._is_possible and self._start():
            self._coverage.stop()

    def _start(self) -> bool:
        try:
            if sys.gettrace() is not None:
                raise RuntimeError("another tracer is at work")
            with _OwnSettings():
                if self._coverage is None:
                    self._coverage = self._set_up()
                self._coverage.start()
        except Exception as error:
            self._is_possible = False
            self.doubts.append("what runs could not be traced: %s: %s" % (type(error).__name__, error))
        return self._is_possible

    def _set_up(self) -> Any:
        spec = importlib.util.find_spec("coverage")
        if spec is not None and self._places.is_project(spec.origin or ""):
            raise ImportError("the project has a module of that name", name="coverage")
        coverage: Any = importlib.import_module("coverage")
        # For its debugging alone coverage notes who called it, and for that reads the source of every caller.
        collector: Any = importlib.import_module("coverage.collector")
        collector.short_stack = lambda *_arguments, **_options: ""
        include, omit = self._places.patterns()
        if self._files is not None:
            include, omit = [_pattern(path) for path in self._files], []
        return coverage.Coverage(data_file=None, config_file=False, branch=False, include=include, omit=omit)

    @property
    def is_at_work(self) -> bool:
        """Whether anything is traced; threads that were there before may escape it."""
        return self._state is not None

    @property
    def has_trace_function(self) -> bool:
        """Whether a trace function is at work, which each thread needs and another can replace."""
        return self._state is not None and self._state[0] is not None

    def replaced_by(self, frame: FrameType) -> str | None:
        """Who sets a trace function here; None for coverage in a new thread."""
        if not self.has_trace_function:
            return None
        name, function = frame.f_globals.get("__name__"), frame.f_code.co_name
        caller = frame.f_back.f_code.co_name if frame.f_back is not None else ""
        is_coverage = name == "coverage.collector" and "_installation_trace" in (function, caller)
        is_thread = name == "threading" and _tracing_state()[1] is (self._state or (None, None))[1]
        return None if is_coverage or is_thread else "another tracer took over in %s" % frame.f_code.co_filename

    def take(self) -> dict[str, set[int]]:
        """The lines that ran since they were taken last, by real path; nothing where nothing is traced.

        Straight from the tracer's own sets: a test runs for a millisecond, and to ask coverage takes longer.
        """
        if self._state is None:
            return {}
        if self.has_trace_function and sys.gettrace() is None:
            self._coverage.stop()  # a test took the tracer away; the next one is traced again
            self._coverage.start()
        found: dict[str, set[int]] = {}
        for file, lines in list(self._coverage._collector.data.items()):
            if lines:
                path = self._places.real(file)
                if self.is_asked(path):
                    found.setdefault(path, set()).update(lines)
                lines.clear()
        if not self.has_trace_function:
            monitoring: Any = getattr(sys, "monitoring", None)
            monitoring.restart_events()  # each line is told only once
        return found

    def stop(self) -> dict[str, set[int]]:
        """The lines that ran, by real path."""
        if self._state is None:
            return {}
        if _tracing_state() != self._state:
            self.doubts.append("another tracer took over")
        if self.has_trace_function and "greenlet" in sys.modules:
            self.doubts.append("greenlet is loaded, and its switches lose the tracer")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._coverage.stop()
                seen = self._coverage.get_data()
                return {
                    os.path.realpath(file): set(seen.lines(file) or ())
                    for file in seen.measured_files()
                    if self.is_asked(os.path.realpath(file))
                }
        except Exception as error:
            self.doubts.append("what ran could not be read: %s: %s" % (type(error).__name__, error))
            return {}


class _OwnSettings:
    """For a moment, the environment holds our wishes about coverage and no others, and warnings are not errors."""

    def __enter__(self) -> None:
        self._kept = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("COVERAGE_")}
        if sys.version_info >= (3, 12):
            os.environ["COVERAGE_CORE"] = "sysmon"
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)
        os.environ.pop("COVERAGE_CORE", None)
        os.environ.update(self._kept)


def _tracing_state() -> tuple[object, ...]:
    """Everything that another tracer would change: of this thread, of new threads, of sys.monitoring."""
    monitoring: Any = getattr(sys, "monitoring", None)
    tools = [(number, monitoring.get_tool(number)) for number in range(6)] if monitoring is not None else []
    ours = [(number, monitoring.get_events(number)) for number, name in tools if "coverage" in str(name)]
    return (sys.gettrace(), getattr(threading, "_trace_hook", None), ours)


def processes_made() -> str:
    """How many processes multiprocessing has made, in its own words: its spawn method raises no event."""
    module = sys.modules.get("multiprocessing.process")
    return (
        repr(getattr(module, "_process_counter", None)) if module is not None else "count(1)"
    )  # its first number


def _module_files() -> Iterator[tuple[str, str | None]]:
    """Every module with a file, and namespace packages with None."""
    for name, module in list(sys.modules.items()):
        if not isinstance(module, types.ModuleType):
            continue
        variables = _namespace.__get__(module)
        file = variables.get("__file__")
        if isinstance(file, str):
            yield name, file
        elif file is None and variables.get("__path__") is not None:
            yield name, None


def _folders(paths: Iterable[str]) -> tuple[str, ...]:
    """Each folder as it is called and as it really is, ready for startswith."""
    names = [name for path in paths for name in (os.path.abspath(path), os.path.realpath(path))]
    return tuple(os.path.join(name, "") for name in dict.fromkeys(names))


def _pattern(path: str) -> str:
    # Coverage knows no way to quote: any character stands for a special one, exact paths are compared later.
    return "".join("?" if letter in "*?[]" else letter for letter in path)
