"""Notice failures while pytest runs its tests. A test that passes pays for this file alone."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.real import real

if TYPE_CHECKING:
    from typing import Any, Callable, Generator

    from flakehound_inside.triage_cases import Cases
    from flakehound_inside.triage_generators import Generators, Snapshot
    from flakehound_inside.triage_guard import Guard
    from flakehound_inside.triage_journal import Journal

_clock = real.clock


class SideBySide(Exception):
    """Tests whose reports cannot be told apart."""


class Before:
    """What has to be known of the time before a test, should it fail."""

    __slots__ = ("began", "depth", "names", "state")

    def __init__(self, state: Snapshot, depth: int, names: dict[str, Any] | None) -> None:
        self.state = state
        self.depth = depth  # collectors that were set up already
        self.names = names  # of a doctest; running it clears them
        self.began = _clock()


class Listener:
    """The plugin around every test. Registered last, so that its wrapper is the outermost."""

    def __init__(
        self, guard: Guard, journal: Journal, generators: Generators, first_case: Callable[[Listener], Cases]
    ) -> None:
        self._guard = guard
        self._journal = journal
        self._generators = generators
        self._first_case = first_case  # opens the book of cases, which a green run does without
        self._reports: list[pytest.TestReport] = []  # of the test that runs
        self._all_passed = True
        self._is_running = False
        self._flaky_is_there = "flaky" in sys.modules  # that plugin reports no attempt but the last
        self.cases: Cases | None = None
        self.failed_reports = 0  # as pytest counts them for its exit code

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report until its test has ended."""
        try:
            self._reports.append(report)
            if report.outcome != "passed" or hasattr(report, "wasxfail"):
                self._all_passed = False
                # Now, not later: pytest 9 calls a test with failed subtests failed once the terminal has seen it.
                if report.outcome == "failed" and not hasattr(report, "wasxfail"):
                    self.failed_reports += 1
        except Exception as error:
            self._guard.stand_aside(error)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> Generator[None, Any, None]:
        """Let the test run; look at it only if something about it is not plain."""
        before = None
        if not self._guard.broken:
            try:
                before = self._before(item)
            except Exception as error:
                self._guard.stand_aside(error)
        outcome = yield
        self._is_running = False
        if before is None or self._guard.broken:
            return
        try:
            if self._all_passed and outcome.excinfo is None and not self._flaky_is_there:
                self._journal.add(item.nodeid, "P", _clock() - before.began)
            else:
                self._look(item, nextitem, before, complete=outcome.excinfo is None)
        except Exception as error:
            self._guard.stand_aside(error)
        except BaseException as error:  # an interrupt while we rerun is the user's, and ends the run
            if not hasattr(outcome, "force_exception"):  # pluggy before 1.1
                raise
            outcome.force_exception(error)

    def _before(self, item: pytest.Item) -> Before:
        if self._is_running:
            raise SideBySide("another plugin runs tests side by side in one process")
        self._is_running = True
        self._reports.clear()
        self._all_passed = True
        dtest = getattr(item, "dtest", None)
        names = None if dtest is None else dict(dtest.globs)
        stack = getattr(item.session._setupstate, "stack", ())
        return Before(self._generators.snapshot(), len(stack), names)

    def _look(self, item: pytest.Item, nextitem: pytest.Item | None, before: Before, *, complete: bool) -> None:
        """Something was not plain: a failure, a skip, another plugin's rerun, or the end of the run."""
        from flakehound_inside.triage_attempt import attempt_of, last_attempt, was_repeated

        duration_s = _clock() - before.began
        attempt = attempt_of(last_attempt(self._reports))
        self._journal.add(item.nodeid, attempt.letter if complete else "-", duration_s)
        if attempt.failed and complete:
            if self.cases is None:
                self.cases = self._first_case(self)
            self.cases.open(item, nextitem, before, attempt)
        elif attempt.passed and (was_repeated(self._reports) or getattr(item, "_flaky_current_errors", None)):
            self._journal.rerun_by_others.append(item.nodeid)
