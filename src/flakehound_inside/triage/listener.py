"""Notice failures while pytest runs its tests. A test that passes pays for this file alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Callable, Generator, TypeVar

    from flakehound_inside.triage.failed_tests import Cases
    from flakehound_inside.triage.journal import Journal
    from flakehound_inside.triage.own_errors import Guard
    from flakehound_inside.triage.random_generators import Generators, Snapshot
    from flakehound_inside.triage.reports import Reports

    _Hook = TypeVar("_Hook", bound=Callable[..., object])
    Wrapping = Generator[None, Any, Any]
    _Before = tuple[Snapshot, int, dict[str, Any] | None]  # a `Before` that took no time to make

_clock = isolated.clock


def _knows_new_wrappers() -> bool:
    # Tried out, because pluggy reads its metadata to tell its version.
    try:
        pytest.hookimpl(wrapper=True)
    except TypeError:  # pluggy before 1.2
        return False
    return True


_IS_NEW = _knows_new_wrappers()


def _outermost(hook: _Hook) -> _Hook:
    if _IS_NEW:  # the cheaper sort
        return pytest.hookimpl(wrapper=True, tryfirst=True)(hook)
    return pytest.hookimpl(hookwrapper=True, tryfirst=True)(hook)


class SideBySide(Exception):
    """Tests whose reports cannot be told apart."""


class Before:
    """What has to be known of the time before a test, should it fail."""

    def __init__(self, state: Snapshot, depth: int, names: dict[str, Any] | None) -> None:
        self.state = state
        self.depth = depth  # collectors that were set up already
        self.names = names  # of a doctest; running it clears them


class Listener:
    """The plugin around every test. Registered last, so that its wrapper is the outermost."""

    def __init__(
        self,
        guard: Guard,
        journal: Journal,
        generators: Generators,
        reports: Reports,
        first_case: Callable[[Listener], Cases],
    ) -> None:
        self._guard = guard
        self._journal = journal
        self._snapshot = generators.snapshot
        self._reports = reports
        self._first_case = first_case  # opens the book of cases, which a green run does without
        self._is_running = False
        self.cases: Cases | None = None

    def __dir__(self) -> list[str]:
        return ["pytest_runtest_protocol"]  # pytest looks at every name of a plugin, several times

    @property
    def failed_reports(self) -> int:
        """How many there were, as pytest counts them for its exit code."""
        return self._reports.failed

    @_outermost
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Wrapping:
        """Let the test run; look at it only if something about it is not plain."""
        before = self._begin(item)
        began = _clock()
        try:
            result = yield
        except BaseException:
            self._end(item, nextitem, before, _clock() - began, False)
            raise
        self._end(item, nextitem, before, _clock() - began, True)
        return result

    def _begin(self, item: pytest.Item) -> _Before | None:
        if self._guard.broken:
            return None
        try:
            if self._is_running:
                raise SideBySide("another plugin runs tests side by side in one process")
            self._is_running = True
            self._reports.begin()
            names = None if type(item) is pytest.Function else _names_of(item)
            return self._snapshot(), len(getattr(item.session._setupstate, "stack", ())), names
        except Exception as error:
            self._guard.stand_aside(error)
            return None

    def _end(  # positional, and with no calls of ours but the journal's: every test pays for it
        self,
        item: pytest.Item,
        nextitem: pytest.Item | None,
        before: _Before | None,
        duration_s: float,
        complete: bool,
    ) -> None:
        self._is_running = False
        if before is None or self._guard.broken:
            return
        try:
            if complete and self._reports.all_passed():
                self._journal.add(item.nodeid, "P", duration_s)
            else:
                self._look(item, nextitem, Before(*before), duration_s, complete=complete)
        except Exception as error:  # not an interrupt while we rerun: that is the user's, and ends the run
            self._guard.stand_aside(error)

    def _look(
        self, item: pytest.Item, nextitem: pytest.Item | None, before: Before, duration_s: float, *, complete: bool
    ) -> None:
        """Something was not plain: a failure, a skip, another plugin's rerun, or the end of the run."""
        from flakehound_inside.triage.attempt import attempt_of, last_attempt, was_repeated

        reports = self._reports.end(item.nodeid)
        attempt = attempt_of(last_attempt(reports))
        self._journal.add(item.nodeid, attempt.letter if complete else "-", duration_s)
        if attempt.failed and complete:
            if self.cases is None:
                self.cases = self._first_case(self)
            self.cases.open(item, nextitem, before, attempt)
        elif attempt.passed and (was_repeated(reports) or getattr(item, "_flaky_current_errors", None)):
            self._journal.rerun_by_others.append(item.nodeid)


def _names_of(item: pytest.Item) -> dict[str, Any] | None:
    doctest = getattr(item, "dtest", None)
    return None if doctest is None else dict(doctest.globs)


class OldListener(Listener):
    """The same for a pluggy whose wrappers are given the outcome instead of the exception."""

    @_outermost
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> Wrapping:
        before = self._begin(item)
        began = _clock()
        outcome = yield
        self._end(item, nextitem, before, _clock() - began, outcome.excinfo is None)


def listener_kind() -> type[Listener]:
    """The listener that fits the pluggy of this process."""
    return Listener if _IS_NEW else OldListener
