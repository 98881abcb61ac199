"""A hunt whose number of runs the user named: they are made even if the default time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flakehound.core.history import History
from flakehound.core.plans import RunPlan, Setting
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.search.stages import StagedSearch


class CountedAgenda(Agenda):
    """A usual hunt while there is time, then the counted runs that are missing and the follow-ups of failures."""

    def __init__(
        self,
        history: History,
        options: SearchOptions,
        time_left_s: Callable[[], float],
        *,
        is_busy: Callable[[], bool],
    ) -> None:
        super().__init__(history, options, time_left_s)
        self._is_busy = is_busy
        self._missing: Iterator[RunPlan] | None = None

    def next_search_run(self) -> RunPlan | None:
        """The next run that looks for flaky tests; None when the counted ones are made and the time is up."""
        if self._missing is None and self._time_left_s() > 0:
            return super().next_search_run()
        if self._missing is None:
            if self._is_busy():
                return None  # the count does not include runs that are still going on
            self._missing = self._missing_runs()
        return next(self._missing, None)

    def _missing_runs(self) -> Iterator[RunPlan]:
        search = StagedSearch(self._history, self._options.counted_only(), lambda: self._suspects.test_order)
        for plan in search.plans(lambda: 0.0):
            if plan.setting in (Setting.ORIGINAL, Setting.SHUFFLED):
                yield plan
