"""Records which lines run, with coverage.py: by sys.monitoring if Python has it, else by a trace function."""

from __future__ import annotations

import importlib.util
import os
import sys
import threading
import warnings
from typing import TYPE_CHECKING

from flakehound_inside.observe.project_paths import coverage_pattern

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from flakehound_inside.observe.project_paths import ProjectPaths


class LineTracer:
    """Traces from the moment when the first requested file is loaded, as none of its lines can run before.

    A trace function slows down everything, including the start of pytest. Everything that takes time or may fail
    is prepared before the first test, because a test may mock what it needs.
    """

    def __init__(self, files: list[str] | None, paths: ProjectPaths) -> None:
        """`files`: the files to trace; None: every file of the project."""
        self._files = None if files is None else frozenset(map(os.path.realpath, files))
        self._paths = paths
        self._is_possible = self._files != frozenset()
        self._coverage: Any = None  # None: not loaded yet
        self._tracing_state: tuple[object, ...] | None = None  # right after tracing began; None: not started
        self.doubts: list[str] = []  # reasons why lines may be missing

    def is_requested(self, path: str) -> bool:
        """Whether the lines of a file, given by its resolved path, are to be recorded."""
        return self._paths.is_project(path) if self._files is None else path in self._files

    def should_begin_at(self, path: str) -> bool:
        """Whether code of the first requested file is about to run, so that tracing has to begin now."""
        if self._tracing_state is not None or not self._is_possible or path.startswith("<"):
            return False
        return self.is_requested(self._paths.resolve(path))

    def begin(self) -> None:
        """Start tracing; a failure is added to the doubts."""
        if self._start_coverage():
            self._tracing_state = _current_tracing_state()
            other_threads = [
                thread for thread in threading.enumerate() if thread is not threading.current_thread()
            ]
            if self.has_trace_function and other_threads:
                names = ", ".join(thread.name for thread in other_threads[:5])
                self.doubts.append("threads ran before anything was traced: " + names)

    def prepare(self) -> None:
        """Load and try coverage.py before a test runs."""
        if self._tracing_state is None and self._is_possible and self._start_coverage():
            self._coverage.stop()

    def _start_coverage(self) -> bool:
        try:
            if sys.gettrace() is not None:
                raise RuntimeError("another tracer is at work")
            with _OwnCoverageSettings():
                if self._coverage is None:
                    self._coverage = self._new_coverage()
                self._coverage.start()
        except Exception as error:
            self._is_possible = False
            self.doubts.append("what runs could not be traced: %s: %s" % (type(error).__name__, error))
        return self._is_possible

    def _new_coverage(self) -> Any:
        spec = importlib.util.find_spec("coverage")
        if spec is not None and self._paths.is_project(spec.origin or ""):
            raise ImportError("the project has a module of that name", name="coverage")
        coverage: Any = importlib.import_module("coverage")
        # For debugging itself, coverage.py records its callers and reads the source of each.
        collector: Any = importlib.import_module("coverage.collector")
        collector.short_stack = lambda *_arguments, **_options: ""
        include, omit = self._paths.coverage_patterns()
        if self._files is not None:
            include, omit = [coverage_pattern(path) for path in self._files], []
        return coverage.Coverage(data_file=None, config_file=False, branch=False, include=include, omit=omit)

    @property
    def is_tracing(self) -> bool:
        """Whether tracing has begun; threads that ran before may not be traced."""
        return self._tracing_state is not None

    @property
    def has_trace_function(self) -> bool:
        """Whether a trace function is used, which every thread needs and other code can replace."""
        return self._tracing_state is not None and self._tracing_state[0] is not None

    def reason_if_replaced(self, frame: FrameType) -> str | None:
        """A doubt if the code of a frame replaces our trace function; None for coverage.py in a new thread."""
        if not self.has_trace_function:
            return None
        name, function = frame.f_globals.get("__name__"), frame.f_code.co_name
        caller = frame.f_back.f_code.co_name if frame.f_back is not None else ""
        is_coverage = name == "coverage.collector" and "_installation_trace" in (function, caller)
        thread_hook = (self._tracing_state or (None, None))[1]
        is_thread = name == "threading" and _current_tracing_state()[1] is thread_hook
        return None if is_coverage or is_thread else "another tracer took over in %s" % frame.f_code.co_filename

    def take_lines(self) -> dict[str, set[int]]:
        """The lines that ran since the last call, by resolved path; empty if nothing is traced.

        Read from the sets of the tracer, because the API of coverage.py takes longer than a short test.
        """
        if self._tracing_state is None:
            return {}
        if self.has_trace_function and sys.gettrace() is None:
            self._coverage.stop()  # a test removed the trace function; trace the next test again
            self._coverage.start()
        lines_by_path: dict[str, set[int]] = {}
        for file, lines in list(self._coverage._collector.data.items()):
            if lines:
                path = self._paths.resolve(file)
                if self.is_requested(path):
                    lines_by_path.setdefault(path, set()).update(lines)
                lines.clear()
        if not self.has_trace_function:
            monitoring: Any = getattr(sys, "monitoring", None)
            monitoring.restart_events()  # sys.monitoring reports each line only once
        return lines_by_path

    def stop(self) -> dict[str, set[int]]:
        """Stop tracing; returns the lines that ran, by resolved path."""
        if self._tracing_state is None:
            return {}
        if _current_tracing_state() != self._tracing_state:
            self.doubts.append("another tracer took over")
        if self.has_trace_function and "greenlet" in sys.modules:
            self.doubts.append("greenlet is loaded, and its switches lose the tracer")
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._coverage.stop()
                data = self._coverage.get_data()
                return {
                    os.path.realpath(file): set(data.lines(file) or ())
                    for file in data.measured_files()
                    if self.is_requested(os.path.realpath(file))
                }
        except Exception as error:
            self.doubts.append("what ran could not be read: %s: %s" % (type(error).__name__, error))
            return {}


class _OwnCoverageSettings:
    """Within the block coverage.py sees our settings instead of the user's, and warnings are not errors."""

    def __enter__(self) -> None:
        self._saved = {name: os.environ.pop(name) for name in list(os.environ) if name.startswith("COVERAGE_")}
        if sys.version_info >= (3, 12):
            os.environ["COVERAGE_CORE"] = "sysmon"
        self._warnings = warnings.catch_warnings()
        self._warnings.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error: Any) -> None:
        self._warnings.__exit__(*error)
        os.environ.pop("COVERAGE_CORE", None)
        os.environ.update(self._saved)


def _current_tracing_state() -> tuple[object, ...]:
    """Everything that another tracer would change: of this thread, of new threads, of sys.monitoring."""
    monitoring: Any = getattr(sys, "monitoring", None)
    tools = [(number, monitoring.get_tool(number)) for number in range(6)] if monitoring is not None else []
    coverage_events = [
        (number, monitoring.get_events(number)) for number, name in tools if "coverage" in str(name)
    ]
    return (sys.gettrace(), getattr(threading, "_trace_hook", None), coverage_events)
