"""The pytest plugin that traces the tests of one process and writes the calls of each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.calls.audit import AuditedCalls
from flakehound_inside.observe.calls.boundaries import FIXTURE, TEST, TraceBoundaries, code_of, is_suspendable
from flakehound_inside.observe.calls.ledger import PHASES, CallLedger
from flakehound_inside.observe.calls.monitoring import CallMonitor
from flakehound_inside.observe.calls.names import python_name
from flakehound_inside.observe.calls.profile import CallProfiler

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Iterator

    from flakehound_inside.message_types import TraceRequest
    from flakehound_inside.recorder import Recorder

PLUGIN_NAME = "flakehound-calls"
# The phase of each method of a unittest case that its own `run` calls.
_UNITTEST_PHASES = {"setUp": "setup", "asyncSetUp": "setup", "tearDown": "teardown", "asyncTearDown": "teardown"}


def start_trace(config: pytest.Config, recorder: Recorder, request: TraceRequest) -> None:
    """Start to trace every test that this process runs."""
    plugin = MonitoringCallTracer if sys.version_info >= (3, 12) else ProfilingCallTracer
    config.pluginmanager.register(plugin(recorder, request, str(config.rootpath)), PLUGIN_NAME)


class CallTracer:
    """Opens and closes the ledger around test functions and fixture functions; writes it after each test."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        self._recorder = recorder
        self._ledger = CallLedger(request, root)
        self._boundaries = TraceBoundaries(self._ledger)
        self._numbers: dict[object, int] = {}  # of the functions that were written already
        self._counts = request["counts"]
        self._problem = ""  # why nothing is traced
        self._audit = AuditedCalls(self._ledger)
        self._audit.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Write the calls of a test before its end is written."""
        self._ledger.clear()
        if self._problem:
            self._ledger.note(self._problem)
        self._add_boundaries(item)
        yield
        self._boundaries.end()
        self._write()

    def _add_boundaries(self, item: pytest.Item) -> None:
        function = getattr(item, "obj", None)
        if hasattr(item, "_testcase"):
            case = getattr(getattr(item, "parent", None), "obj", None)
            for name, phase in _UNITTEST_PHASES.items():
                self._boundaries.add(getattr(case, name, None), phase)
        if not self._boundaries.add(function, TEST):
            self._ledger.note("the test is no Python function, and is not traced")

    def _write(self) -> None:
        ledger, log = self._ledger, self._recorder._log
        content: dict[str, Any] = {"calls": {}}
        new_functions: list[list[object]] = []
        for phase in PHASES:
            calls = ledger.calls.get(phase)
            if calls:
                numbers = [self._number(key, new_functions) for key in list(calls)]
                content["calls"][phase] = [numbers, list(calls.values())] if self._counts else [numbers]
        content["hits"] = [
            [phase, self._number(key, new_functions), *line] for (phase, key), line in ledger.hits.items() if line
        ]
        content["children"], content["notes"] = ledger.children, list(ledger.notes)
        if not any(content.values()):
            return
        if new_functions:
            log.write("d " + isolated_os.dumps(new_functions))
        log.write("c %d %s" % (self._recorder._place, isolated_os.dumps(content)))

    def _number(self, key: Any, new_functions: list[list[object]]) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            new_functions.append([number, *self._description(key)])
        return number

    def _description(self, key: CodeType | tuple[str, str, str]) -> tuple[str, str, str, str]:
        if isinstance(key, tuple):
            module, owner, name = key
            return ("<%s>" % module, owner, name, "c")
        owner, name = python_name(key)
        return (self._ledger.displayed_path(key.co_filename), self._ledger.classes.get(key, owner), name, "python")


class MonitoringCallTracer(CallTracer):
    """Traces with sys.monitoring, which reports the start and the end of functions."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        super().__init__(recorder, request, root)
        self._monitor = CallMonitor(self._ledger, self._boundaries, request["mode"], request["counts"])
        try:
            self._monitor.start()
        except Exception as error:  # our failure must not fail the user's test
            self._problem = "calls are not traced: %s" % error

    def _add_boundaries(self, item: pytest.Item) -> None:
        self._monitor.next_test()
        super()._add_boundaries(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Begin to trace fixtures and setup methods."""
        self._boundaries.begin("setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """Begin to trace the test itself."""
        self._boundaries.begin("call")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        """Begin to trace the code of fixtures after their yield, and teardown methods."""
        self._boundaries.begin("teardown")

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        """Called before a fixture runs."""
        self._boundaries.add(fixturedef.func, FIXTURE)


class ProfilingCallTracer(CallTracer):
    """Traces with a profile function that hooks set right before the traced code runs."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        super().__init__(recorder, request, root)
        self._profiler = CallProfiler(self._ledger, self._boundaries, request["mode"])
        self._audit.is_traced, self._audit.resume_tracer = self._profiler.is_tracing, self._profiler.resume
        self._has_yield_fixture = False  # then teardown has code to trace

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Begin to trace fixtures and setup methods."""
        yield from self._run_stage("setup", False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """Begin to trace the test itself; test cases of unittest have no `pytest_pyfunc_call`."""
        yield from self._run_stage("call", hasattr(item, "_testcase"))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """Begin to trace the code of fixtures after their yield, and teardown methods."""
        yield from self._run_stage("teardown", self._has_yield_fixture)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        """Called before the test function runs."""
        yield from self._profile_block()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Called before a fixture runs."""
        if self._boundaries.add(fixturedef.func, FIXTURE) and is_suspendable(code_of(fixturedef.func)):
            self._has_yield_fixture = True
        yield from self._profile_block()

    def _run_stage(self, stage: str, is_profiled: bool) -> Iterator[None]:
        self._boundaries.begin(stage)
        self._profiler.set_allowance(stage)
        if is_profiled:
            yield from self._profile_block()
        else:
            yield
        self._boundaries.end()

    def _profile_block(self) -> Iterator[None]:
        has_begun = self._profiler.begin()
        yield
        if has_begun:
            self._profiler.end()
            self._boundaries.close()
