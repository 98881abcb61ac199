"""The reports of the test that runs: read from pytest's terminal where that is enough, else heard one by one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from _pytest.reports import TestReport

if TYPE_CHECKING:
    from typing import Any, Sequence, Union

    import pytest

    from flakehound_inside.triage.own_errors import Guard

    Reports = Union["ReadReports", "HeardReports"]

_PHASES = ("setup", "call", "teardown")
# Whoever has a hand in these may run a test twice, or give a report another name.
_DECIDING = ("pytest_runtest_protocol", "pytest_report_teststatus")


def reports_of(session: pytest.Session, guard: Guard) -> Reports:
    """The cheaper way if nobody but pytest runs and names tests here."""
    terminal = session.config.pluginmanager.getplugin("terminalreporter")
    is_plain = type(terminal).__module__ == "_pytest.terminal"
    if is_plain and all(_is_pytests_own(session, hook) for hook in _DECIDING):
        return ReadReports(session, terminal.stats)
    heard = HeardReports(guard)
    session.config.pluginmanager.register(heard, "flakehound-reports")
    return heard


def _is_pytests_own(session: pytest.Session, hook: str) -> bool:
    known = getattr(session.config.hook, hook).get_hookimpls()
    return all(one.function.__module__.split(".")[0] == "_pytest" for one in known)


class ReadReports:
    """Looks at what the terminal has kept. A hook of our own would be called three times for every test."""

    def __init__(self, session: pytest.Session, kept: dict[str, list[Any]]) -> None:
        self._session = session
        self._kept = kept  # by category
        self._failed = 0  # before the test
        self.failed = 0  # reports in all, as pytest counts them for its exit code
        self._take_stock()

    def _take_stock(self) -> None:
        self._lengths = {kind: len(reports) for kind, reports in self._kept.items()}
        self._find_lists()
        # How long they are after the next test, if it passes.
        self._passed_then = len(self._passed) + 1
        self._nameless_then = len(self._nameless) + 2

    def _find_lists(self) -> None:
        # Once the terminal has them: two names to look up in every test would be dearer.
        self._passed = self._kept.get("passed", ())
        self._nameless = self._kept.get("", ())  # of a setup or a teardown

    def begin(self) -> None:
        """A test starts."""
        self._failed = self._session.testsfailed

    def all_passed(self) -> bool:
        """Whether the test that ran is one that was set up, passed and was torn down, and no more."""
        if not self._passed:
            self._find_lists()
        if (
            len(self._passed) != self._passed_then
            or len(self._nameless) != self._nameless_then
            or self._session.testsfailed != self._failed
        ):
            return False
        self._passed_then += 1
        self._nameless_then += 2
        return True

    def end(self, test: str) -> list[TestReport]:
        """The reports of the test that ran, in their order; to be asked for if not all is plain."""
        self.failed += self._session.testsfailed - self._failed
        begin = {**self._lengths, "passed": self._passed_then - 1, "": self._nameless_then - 2}
        new = [one for kind, kept in self._kept.items() for one in kept[begin.get(kind, 0) :]]
        self._take_stock()
        # A warning has the test's id too.
        return sorted((one for one in new if isinstance(one, TestReport) and one.nodeid == test), key=_place)


def _place(report: TestReport) -> tuple[int, bool]:
    # A subtest has a report of its own sort, before that of the test which it is part of.
    phase = _PHASES.index(report.when) if report.when in _PHASES else len(_PHASES)
    return phase, type(report) is TestReport


class HeardReports:
    """The plugin that keeps the reports of one test until it has ended."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._reports: list[TestReport] = []
        self._all_passed = True
        self._flaky_is_there = "flaky" in sys.modules  # that plugin reports no attempt but the last
        self.failed = 0

    def pytest_runtest_logreport(self, report: TestReport) -> None:
        """Keep the report until its test has ended."""
        try:
            self._reports.append(report)
            if report.outcome != "passed" or "wasxfail" in report.__dict__:
                self._all_passed = False
                # Now, not later: pytest 9 calls a test with failed subtests failed once the terminal has seen it.
                if report.outcome == "failed" and not hasattr(report, "wasxfail"):
                    self.failed += 1
        except Exception as error:
            self._guard.stand_aside(error)

    def begin(self) -> None:
        """A test starts."""
        self._reports.clear()
        self._all_passed = True

    def all_passed(self) -> bool:
        """Whether the test that ran passed as far as can be told without looking closer."""
        return self._all_passed and not self._flaky_is_there

    def end(self, _test: str) -> Sequence[TestReport]:
        """The reports of the test that ran."""
        return self._reports
