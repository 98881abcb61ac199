"""The pytest plugin that traces the tests of one process and writes, for each, what it called."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.calls.audit import Audit
from flakehound_inside.observe.calls.gates import FIXTURE, TEST, Gates, code_of
from flakehound_inside.observe.calls.ledger import PHASES, Ledger
from flakehound_inside.observe.calls.monitoring import Monitoring
from flakehound_inside.observe.calls.names import python_name
from flakehound_inside.observe.calls.profile import Profiling

if TYPE_CHECKING:
    from types import CodeType
    from typing import Any, Iterator

    from flakehound_inside.message_types import Trace
    from flakehound_inside.recorder import Recorder

NAME = "flakehound-calls"
# Methods of a unittest case that its own `run` calls, and the phase they belong to.
_UNITTEST = {"setUp": "setup", "asyncSetUp": "setup", "tearDown": "teardown", "asyncTearDown": "teardown"}


def trace(config: pytest.Config, recorder: Recorder, wish: Trace) -> None:
    """Trace every test that this process runs from now on."""
    sort = MonitoredCalls if sys.version_info >= (3, 12) else ProfiledCalls
    config.pluginmanager.register(sort(recorder, wish, str(config.rootpath)), NAME)


class Calls:
    """Opens and closes the ledger around each test's function and each fixture's."""

    def __init__(self, recorder: Recorder, wish: Trace, root: str) -> None:
        self._recorder = recorder
        self._ledger = Ledger(wish, root)
        self._gates = Gates(self._ledger)
        self._numbers: dict[object, int] = {}  # of the functions already told
        self._counts = wish["counts"]
        self._problem = ""  # why nothing is traced
        self._audit = Audit(self._ledger)
        self._audit.start()

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """One test: what it called is written before its end is."""
        self._ledger.clear()
        if self._problem:
            self._ledger.note(self._problem)
        self._open_gates(item)
        yield
        self._gates.end()
        self._write()

    def _open_gates(self, item: pytest.Item) -> None:
        function = getattr(item, "obj", None)
        if hasattr(item, "_testcase"):
            case = getattr(getattr(item, "parent", None), "obj", None)
            for name, phase in _UNITTEST.items():
                self._gates.add(getattr(case, name, None), phase)
        if not self._gates.add(function, TEST):
            self._ledger.note("the test is no Python function, and is not traced")

    def _write(self) -> None:
        ledger, log = self._ledger, self._recorder._log
        told: dict[str, Any] = {"calls": {}}
        fresh: list[list[object]] = []
        for phase in PHASES:
            book = ledger.books.get(phase)
            if book:
                numbers = [self._number(key, fresh) for key in list(book)]
                told["calls"][phase] = [numbers, list(book.values())] if self._counts else [numbers]
        told["hits"] = [
            [phase, self._number(key, fresh), *line] for (phase, key), line in ledger.hits.items() if line
        ]
        told["children"], told["notes"] = ledger.children, list(ledger.notes)
        if not any(told.values()):
            return  # nothing called, nothing said
        if fresh:
            log.write("d " + isolated_os.dumps(fresh))
        log.write("c %d %s" % (self._recorder._place, isolated_os.dumps(told)))

    def _number(self, key: Any, fresh: list[list[object]]) -> int:
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self._numbers)
            fresh.append([number, *self._described(key)])
        return number

    def _described(self, key: CodeType | tuple[str, str, str]) -> tuple[str, str, str, str]:
        if isinstance(key, tuple):
            module, owner, name = key
            return ("<%s>" % module, owner, name, "c")
        owner, name = python_name(key)
        return (self._ledger.shown(key.co_filename), self._ledger.classes.get(key, owner), name, "python")


class MonitoredCalls(Calls):
    """Where functions tell by themselves that they start and end."""

    def __init__(self, recorder: Recorder, wish: Trace, root: str) -> None:
        super().__init__(recorder, wish, root)
        self._monitoring = Monitoring(self._ledger, self._gates, wish["mode"], wish["counts"])
        try:
            self._monitoring.start()
        except Exception as error:  # our failure must not fail the user's test
            self._problem = "calls are not traced: %s" % error

    def _open_gates(self, item: pytest.Item) -> None:
        self._monitoring.next_test()
        super()._open_gates(item)

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


class ProfiledCalls(Calls):
    """Where a profiler has to be set, as close to the code as a hook can be."""

    def __init__(self, recorder: Recorder, wish: Trace, root: str) -> None:
        super().__init__(recorder, wish, root)
        self._profiling = Profiling(self._ledger, self._gates, wish["mode"])
        self._audit.is_traced, self._audit.wake = self._profiling.is_listening, self._profiling.wake
        self._is_yielding = False  # a fixture has a second half

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_setup(self) -> Iterator[None]:
        """Fixtures and setup methods."""
        yield from self._stage("setup", False)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Iterator[None]:
        """The test itself; unittest's cases have no hook of their own."""
        yield from self._stage("call", hasattr(item, "_testcase"))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_teardown(self) -> Iterator[None]:
        """What fixtures do after their yield, and teardown methods."""
        yield from self._stage("teardown", self._is_yielding)

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_pyfunc_call(self) -> Iterator[None]:
        """The test's function is about to run."""
        yield from self._heard()

    @pytest.hookimpl(hookwrapper=True, trylast=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """A fixture is about to run."""
        if self._gates.add(fixturedef.func, FIXTURE) and self._gates.is_suspendable(code_of(fixturedef.func)):
            self._is_yielding = True
        yield from self._heard()

    def _stage(self, stage: str, is_heard: bool) -> Iterator[None]:
        self._gates.begin(stage)
        self._profiling.grant(stage)
        if is_heard:
            yield from self._heard()
        else:
            yield
        self._gates.end()

    def _heard(self) -> Iterator[None]:
        is_ours = self._profiling.begin()
        yield
        if is_ours:
            self._profiling.end()
            self._gates.close()
