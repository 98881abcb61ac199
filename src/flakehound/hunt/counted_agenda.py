"""The agenda of a hunt with `--runs` or `--shuffles`: makes that many runs even if the default time is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flakehound.core.history import History
from flakehound.core.plans import RunPlan, Setting
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.search.stages import StagedSearch


class CountedAgenda(Agenda):
    """An ordinary hunt until the time is up, then the counted runs that are missing and follow-ups of failures."""

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
        self._missing_plans: Iterator[RunPlan] | None = None

    def next_search_run(self) -> RunPlan | None:
        """The next run that looks for flaky tests; None when the counted ones are made and the time is up."""
        if self._missing_plans is None and self._time_left_s() > 0:
            return super().next_search_run()
        if self._missing_plans is None:
            if self._is_busy():
                return None  # runs that are still going on are not in the history yet and would be made twice
            self._missing_plans = self._missing_runs()
        return next(self._missing_plans, None)

    def _missing_runs(self) -> Iterator[RunPlan]:
        search = StagedSearch(self._history, self._options.counted_only(), lambda: self._suspects.test_order)
        for plan in search.plans(lambda: 0.0):
            if plan.setting in (Setting.ORIGINAL, Setting.SHUFFLED):
                yield plan
