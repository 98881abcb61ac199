"""The pytest plugin that traces the tests of one process and writes the calls of each."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.calls.audit import AuditedCalls
from flakehound_inside.observe.calls.gates import FIXTURE, TEST, TraceGates, code_of, is_suspendable
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
# Methods of a unittest case that its own `run` calls, and the phase they belong to.
_UNITTEST = {"setUp": "setup", "asyncSetUp": "setup", "tearDown": "teardown", "asyncTearDown": "teardown"}


def trace(config: pytest.Config, recorder: Recorder, request: TraceRequest) -> None:
    """Trace every test that this process runs from now on."""
    plugin = MonitoredCalls if sys.version_info >= (3, 12) else ProfiledCalls
    config.pluginmanager.register(plugin(recorder, request, str(config.rootpath)), PLUGIN_NAME)


class TracedCalls:
    """Opens and closes the ledger around each test's function and each fixture's."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        self._recorder = recorder
        self._ledger = CallLedger(request, root)
        self._gates = TraceGates(self._ledger)
        self._numbers: dict[object, int] = {}  # of the functions already written
        self._counts = request["counts"]
        self._problem = ""  # why nothing is traced
        self._audit = AuditedCalls(self._ledger)
        self._audit.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Write what a test called before its end is written."""
        self._ledger.clear()
        if self._problem:
            self._ledger.note(self._problem)
        self._add_gates(item)
        yield
        self._gates.end()
        self._write()

    def _add_gates(self, item: pytest.Item) -> None:
        function = getattr(item, "obj", None)
        if hasattr(item, "_testcase"):
            case = getattr(getattr(item, "parent", None), "obj", None)
            for name, phase in _UNITTEST.items():
                self._gates.add(getattr(case, name, None), phase)
        if not self._gates.add(function, TEST):
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


class MonitoredCalls(TracedCalls):
    """With sys.monitoring, where functions report their start and end."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        super().__init__(recorder, request, root)
        self._monitor = CallMonitor(self._ledger, self._gates, request["mode"], request["counts"])
        try:
            self._monitor.start()
        except Exception as error:  # our failure must not fail the user's test
            self._problem = "calls are not traced: %s" % error

    def _add_gates(self, item: pytest.Item) -> None:
        self._monitor.next_test()
        super()._add_gates(item)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self) -> None:
        """Fixtures and setup methods."""
        self._gates.begin("setup")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self) -> None:
        """The test itself."""
        self._gates.begin("call")

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_teardown(self) -> None:
        """What fixtures do after their yield, and teardown methods."""
        self._gates.begin("teardown")

    @pytest.hookimpl(tryfirst=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> None:
        """A fixture is about to run."""
        self._gates.add(fixturedef.func, FIXTURE)


class ProfiledCalls(TracedCalls):
    """With a profile function, set by the hooks that are called right before the traced code."""

    def __init__(self, recorder: Recorder, request: TraceRequest, root: str) -> None:
        super().__init__(recorder, request, root)
        self._profiler = CallProfiler(self._ledger, self._gates, request["mode"])
        self._audit.is_traced, self._audit.resume_tracer = self._profiler.is_tracing, self._profiler.resume
        self._has_yield_fixture = False  # then teardown has code to trace

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Fixtures and setup methods."""
        yield from self._stage("setup", False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """The test itself; test cases of unittest have no hook of their own."""
        yield from self._stage("call", hasattr(item, "_testcase"))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """What fixtures do after their yield, and teardown methods."""
        yield from self._stage("teardown", self._has_yield_fixture)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        """The test's function is about to run."""
        yield from self._profiled()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """A fixture is about to run."""
        if self._gates.add(fixturedef.func, FIXTURE) and is_suspendable(code_of(fixturedef.func)):
            self._has_yield_fixture = True
        yield from self._profiled()

    def _stage(self, stage: str, is_profiled: bool) -> Iterator[None]:
        self._gates.begin(stage)
        self._profiler.set_allowance(stage)
        if is_profiled:
            yield from self._profiled()
        else:
            yield
        self._gates.end()

    def _profiled(self) -> Iterator[None]:
        has_begun = self._profiler.begin()
        yield
        if has_begun:
            self._profiler.end()
            self._gates.close()
