"""Detects failures while pytest runs its tests. For a test that passes, only the code of this file runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from _pytest.reports import TestReport

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Callable, Generator, Sequence, TypeVar, Union

    from flakehound_inside.triage.failed_tests import FailedTests
    from flakehound_inside.triage.journal import SessionJournal
    from flakehound_inside.triage.own_errors import OwnErrors
    from flakehound_inside.triage.random_generators import RandomGenerators, Snapshot

    _Hook = TypeVar("_Hook", bound=Callable[..., object])
    Wrapper = Generator[None, Any, Any]
    Reports = Union["TerminalReports", "HookReports"]
    # The fields of a `StateBeforeTest`; a tuple is quicker to create.
    _Before = tuple[Snapshot, int, dict[str, Any] | None]

_clock = isolated.clock
_PHASES = ("setup", "call", "teardown")
# A plugin that implements one of these may run a test twice, or give a report another category.
_OUTCOME_HOOKS = ("pytest_runtest_protocol", "pytest_report_teststatus")


def _has_new_wrappers() -> bool:
    # Tried out, because pluggy would read its metadata to tell its version.
    try:
        pytest.hookimpl(wrapper=True)
    except TypeError:  # pluggy before 1.2
        return False
    return True


_HAS_NEW_WRAPPERS = _has_new_wrappers()


def _outermost_wrapper(hook: _Hook) -> _Hook:
    if _HAS_NEW_WRAPPERS:  # these are faster
        return pytest.hookimpl(wrapper=True, tryfirst=True)(hook)
    return pytest.hookimpl(hookwrapper=True, tryfirst=True)(hook)


class SideBySide(Exception):
    """Tests run concurrently in one process, so that their reports cannot be separated."""


class FailureListener:
    """The plugin around every test. Registered last, so that its wrapper is the outermost."""

    def __init__(
        self,
        own_errors: OwnErrors,
        journal: SessionJournal,
        generators: RandomGenerators,
        reports: Reports,
        make_failed_tests: Callable[[FailureListener], FailedTests],
    ) -> None:
        self._own_errors = own_errors
        self._journal = journal
        self._snapshot = generators.snapshot
        self._reports = reports
        self._make_failed_tests = make_failed_tests  # called at the first failure only
        self._is_running = False
        self.failed_tests: FailedTests | None = None

    def __dir__(self) -> list[str]:
        return ["pytest_runtest_protocol"]  # pytest inspects every name of a plugin, several times

    @property
    def failed_reports(self) -> int:
        """The number of failed reports, as pytest counts them for its exit code."""
        return self._reports.failed

    @_outermost_wrapper
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Wrapper:
        """Run the test; inspect its reports only if it did not simply pass."""
        before = self._begin(item)
        started_s = _clock()
        try:
            result = yield
        except BaseException:
            self._end(item, nextitem, before, _clock() - started_s, False)
            raise
        self._end(item, nextitem, before, _clock() - started_s, True)
        return result

    def _begin(self, item: pytest.Item) -> _Before | None:
        if self._own_errors.occurred:
            return None
        try:
            if self._is_running:
                raise SideBySide("another plugin runs tests side by side in one process")
            self._is_running = True
            self._reports.begin()
            names = None if type(item) is pytest.Function else _doctest_names(item)
            return self._snapshot(), len(getattr(item.session._setupstate, "stack", ())), names
        except Exception as error:
            self._own_errors.report(error)
            return None

    def _end(  # with positional arguments and few calls, because it runs after every test
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        before: _Before | None,
        duration_s: float,
        is_complete: bool,
    ) -> None:
        self._is_running = False
        if before is None or self._own_errors.occurred:
            return
        try:
            if is_complete and self._reports.all_passed():
                self._journal.add(item.nodeid, "P", duration_s)
            else:
                self._inspect(item, nextitem, before, duration_s, is_complete=is_complete)
        except Exception as error:  # not KeyboardInterrupt, by which the user ends the run during a rerun
            self._own_errors.report(error)

    def _inspect(
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        before: _Before,
        duration_s: float,
        *,
        is_complete: bool,
    ) -> None:
        """Read the reports of a test that failed, was skipped, was rerun by another plugin, or ended the run."""
        from flakehound_inside.triage.journal import attempt_of, last_attempt, was_repeated

        reports = self._reports.end(item.nodeid)
        attempt = attempt_of(last_attempt(reports))
        self._journal.add(item.nodeid, attempt.letter if is_complete else "-", duration_s)
        if attempt.failed and is_complete:
            from flakehound_inside.triage.failed_tests import StateBeforeTest

            if self.failed_tests is None:
                self.failed_tests = self._make_failed_tests(self)
            self.failed_tests.add(item, nextitem, StateBeforeTest(*before), attempt)
        elif attempt.passed and (was_repeated(reports) or getattr(item, "_flaky_current_errors", None)):
            self._journal.rerun_by_others.append(item.nodeid)


def _doctest_names(item: pytest.Item) -> dict[str, Any] | None:
    doctest = getattr(item, "dtest", None)
    return None if doctest is None else dict(doctest.globs)


class OldPluggyListener(FailureListener):
    """The same for older versions of pluggy, whose wrappers get the outcome instead of the exception."""

    @_outermost_wrapper
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Wrapper:
        before = self._begin(item)
        started_s = _clock()
        outcome = yield
        self._end(item, nextitem, before, _clock() - started_s, outcome.excinfo is None)


def listener_class() -> type[FailureListener]:
    """The listener that fits the pluggy of this process."""
    return FailureListener if _HAS_NEW_WRAPPERS else OldPluggyListener


def reports_of(session: pytest.Session, own_errors: OwnErrors) -> Reports:
    """Where to read reports: from pytest's terminal reporter, unless another plugin affects outcomes."""
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    is_pytests_terminal = type(terminal).__module__ == "_pytest.terminal"
    if is_pytests_terminal and all(_is_pytests_own(session, hook) for hook in _OUTCOME_HOOKS):
        return TerminalReports(session, terminal.stats)
    reports = HookReports(own_errors)
    session.config.pluginmanager.register(reports, "flakehound-reports")
    return reports


def _is_pytests_own(session: pytest.Session, hook: str) -> bool:
    implementations = getattr(session.config.hook, hook).get_hookimpls()
    return all(implementation.function.__module__.split(".")[0] == "_pytest" for implementation in implementations)


class TerminalReports:
    """Reads the reports that the terminal reporter stores; a hook would be called three times for every test."""

    def __init__(self, session: pytest.Session, reports_by_category: dict[str, list[Any]]) -> None:
        self._session = session
        self._by_category = reports_by_category
        self._failed_before = 0
        self.failed = 0  # all failed reports, as pytest counts them for its exit code
        self._count_reports()

    def _count_reports(self) -> None:
        self._lengths = {kind: len(reports) for kind, reports in self._by_category.items()}
        self._find_lists()
        # The lengths of these lists after the next test, if it passes.
        self._expected_passed = len(self._passed) + 1
        self._expected_other_phases = len(self._other_phases) + 2

    def _find_lists(self) -> None:
        # Kept as attributes, because two dictionary lookups in every test would take longer.
        self._passed = self._by_category.get("passed", ())
        self._other_phases = self._by_category.get("", ())  # setup and teardown

    def begin(self) -> None:
        """Called when a test starts."""
        self._failed_before = self._session.testsfailed

    def all_passed(self) -> bool:
        """Whether the test was set up, passed and was torn down, and nothing else was reported."""
        if not self._passed:
            self._find_lists()
        if (
            len(self._passed) != self._expected_passed
            or len(self._other_phases) != self._expected_other_phases
            or self._session.testsfailed != self._failed_before
        ):
            return False
        self._expected_passed += 1
        self._expected_other_phases += 2
        return True

    def end(self, test: str) -> list[TestReport]:
        """The reports of the test that ran, in their order; must be called unless all passed."""
        self.failed += self._session.testsfailed - self._failed_before
        begin = {**self._lengths, "passed": self._expected_passed - 1, "": self._expected_other_phases - 2}
        new = [report for kind, reports in self._by_category.items() for report in reports[begin.get(kind, 0) :]]
        self._count_reports()
        # Warnings have the id of the test, too.
        of_test = [report for report in new if isinstance(report, TestReport) and report.nodeid == test]
        return sorted(of_test, key=_sort_key)


def _sort_key(report: TestReport) -> tuple[int, bool]:
    # The report of a subtest has its own type, and comes before that of its test.
    phase = _PHASES.index(report.when) if report.when in _PHASES else len(_PHASES)
    return phase, type(report) is TestReport


class HookReports:
    """The plugin that collects the reports of one test until it has ended."""

    def __init__(self, own_errors: OwnErrors) -> None:
        self._own_errors = own_errors
        self._reports: list[TestReport] = []
        self._all_passed = True
        self._has_flaky_plugin = "flaky" in sys.modules  # that plugin reports only the last attempt
        self.failed = 0

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        """Collect the report until its test has ended."""
        try:
            self._reports.append(report)
            if report.outcome != "passed" or "wasxfail" in report.__dict__:
                self._all_passed = False
                # Counted now, because pytest 9 later changes a test with failed subtests to failed.
                if report.outcome == "failed" and not hasattr(report, "wasxfail"):
                    self.failed += 1
        except Exception as error:
            self._own_errors.report(error)

    def begin(self) -> None:
        """Called when a test starts."""
        self._reports.clear()
        self._all_passed = True

    def all_passed(self) -> bool:
        """Whether the test that ran passed, as far as its reports show."""
        return self._all_passed and not self._has_flaky_plugin

    def end(self, _test: str) -> Sequence[TestReport]:
        """The reports of the test that ran."""
        return self._reports
