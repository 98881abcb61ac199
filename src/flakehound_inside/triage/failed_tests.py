"""What happens to a failed test: a page in the journal, reruns at once, and reruns after the last test."""

from __future__ import annotations

from typing import TYPE_CHECKING

from flakehound_inside.triage.failed_fixtures import has_wider_fixtures
from flakehound_inside.triage.fresh_item import Original
from flakehound_inside.triage.obstacles import obstacle, obstacle_now
from flakehound_inside.triage.rerun import Case

if TYPE_CHECKING:
    import pytest

    from flakehound_inside.triage.attempt import Attempt
    from flakehound_inside.triage.journal import Journal
    from flakehound_inside.triage.listener import Before
    from flakehound_inside.triage.random_generators import Generators
    from flakehound_inside.triage.rerun import Rerunner
    from flakehound_inside.triage.threshold import Threshold


class Cases:
    """The failed tests of one session."""

    def __init__(self, journal: Journal, generators: Generators, threshold: Threshold, rerunner: Rerunner) -> None:
        self._journal = journal
        self._generators = generators
        self._threshold = threshold
        self._rerunner = rerunner
        self._open: list[Case] = []  # not seen passing yet

    def open(self, item: pytest.Item, nextitem: pytest.Item | None, before: Before, attempt: Attempt) -> None:
        """Write down the failure of the test that ended last, and rerun it at once."""
        failure = self._journal.fail(attempt, self._generators.told(before.state), _first_line(item))
        self._threshold.count()
        self._journal.not_rerun = self._threshold.words
        if self._journal.not_rerun is not None:
            return
        against = obstacle(item)
        if against is not None:
            self._journal.note("%s was not rerun in its own process: %s" % (item.nodeid, against))
            return
        # Wider fixtures that were set up on the way may have drawn numbers; they will not draw them again.
        repeatable = before.depth >= len(item.listchain()) - 1 or not has_wider_fixtures(item)
        case = Case(
            failure,
            Original(item, before.names),
            before.state if repeatable else None,
            failed_in_teardown=attempt.failed_in_teardown,
        )
        self._rerun_now(case, nextitem)
        if not case.passed:
            self._open.append(case)

    def _rerun_now(self, case: Case, nextitem: pytest.Item | None) -> None:
        against = obstacle_now(case.original.item)
        if against is None:
            self._rerunner.rerun_now(case, nextitem)
        else:
            self._journal.note("%s was not rerun right after its failure: %s" % (case.failure["id"], against))

    def rerun_the_rest(self) -> None:
        """The postponed reruns, when the last test has ended."""
        self._threshold.look()
        self._journal.not_rerun = self._threshold.words
        if self._journal.not_rerun is not None:
            return
        kept = self._generators.snapshot()
        try:
            for case in self._open:
                self._rerunner.rerun_later(case)
        finally:
            self._rerunner.end()
            self._generators.put_back(kept)


def _first_line(item: pytest.Item) -> int:
    line = item.location[1]
    return 0 if line is None else line + 1
