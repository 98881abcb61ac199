"""Decide what runs next: follow-ups of suspects, then the search, then the completion of proven cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan
from flakehound.hunt import limits
from flakehound.hunt.completion import CompletionStage
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.options import INDEX, SearchOptions
from flakehound.hunt.search.by_index import IndexSearch
from flakehound.hunt.search.stages import StagedSearch
from flakehound.hunt.suspects import Suspects


class Agenda:
    """What a hunt does next, decided anew after each run."""

    def __init__(self, history: History, options: SearchOptions, time_left_s: Callable[[], float]) -> None:
        self._history = history
        self._options = options
        self._time_left_s = time_left_s
        self._time_at_start_s = time_left_s()
        self._suspects = Suspects(history, options)
        search = IndexSearch if options.policy == INDEX else StagedSearch
        self._search = search(history, options, lambda: self._suspects.test_order)
        self._search_plans: Iterator[RunPlan] = self._search.plans(time_left_s)
        self._completion = CompletionStage(history, options, self._suspects, time_left_s)
        self._search_is_over = False
        self._nothing_is_left = False

    @property
    def stage(self) -> str:
        """What the hunt is doing, in a few words."""
        if self._completion.has_begun:
            return "completing"
        return "settling" if self._search_is_over else "sweeping"

    @property
    def is_done(self) -> bool:
        """Whether every suspect is settled and no run of the search that was due is missing."""
        due = self._nothing_is_left or self._options.endless
        return due and not any(finding.wanted for finding in self.findings())

    @property
    def pairs_used(self) -> str:
        """Which form of PAIRWISE ran; empty when none did."""
        return self._search.pairs_used

    @property
    def expected(self) -> float | None:
        """Detections expected in the time left; None where nobody asked, or before the first run of the search."""
        return self._search.expected

    @property
    def ended_early(self) -> bool:
        """Whether the search ended because no further detections were to be expected."""
        return self._search.ended_early

    @property
    def under_load(self) -> tuple[NodeId, ...]:
        """The tests that seem to fail only beside other runs, as of now."""
        return self._suspects.under_load

    def outlook(self, seconds: float) -> float | None:
        """Detections expected from so much more time; None where the policy has no forecast."""
        return self._search.outlook(seconds)

    def runs_at_once(self, most: int) -> int:
        """Fewer than `most` while several tests seem to fail only because other runs go on beside them."""
        return max(1, most >> len(self.under_load) // limits.MAX_LOAD_CASES)

    def follow_ups(self) -> list[RunPlan]:
        """The runs that the suspects need, each plan as often as it is needed in all."""
        self._suspects.update()
        merged: Counter[object] = Counter()
        plans: list[RunPlan] = []
        for finding in self.findings():
            counts = Counter(plan.key for plan in finding.wanted)
            for plan in finding.wanted:
                if merged[plan.key] < counts[plan.key]:
                    merged[plan.key] += 1
                    plans.append(plan)
        if self._completion.has_begun:
            plans += self._completion.confirmations()
        return self._affordable_now(plans)

    def _affordable_now(self, plans: list[RunPlan]) -> list[RunPlan]:
        """Cheap ones first; expensive ones wait until the first look at the suite has shown what else there is."""
        costs = {plan.key: self._history.costs.plan_s(plan) for plan in plans}
        first = sorted(plans, key=lambda plan: costs[plan.key] // limits.EQUAL_COST_S)
        is_late = self._time_left_s() < limits.MIN_LEFT_SHARE_FOR_WAITING * self._time_at_start_s
        if not self._search.at_first_look or is_late:
            return first
        return [plan for plan in first if costs[plan.key] <= limits.MAX_EARLY_RUN_SHARE * self._time_at_start_s]

    def next_search_run(self) -> RunPlan | None:
        """The next run that looks for flaky tests; None when nothing is left to do."""
        is_late = self._time_left_s() < limits.COMPLETION_SHARE * self._time_at_start_s
        plan = self._completion.next_plan() if is_late else None
        plan = plan or (None if self._search_is_over else next(self._search_plans, None))
        if plan is None:
            self._search_is_over = True
            plan = self._completion.next_plan()
            self._nothing_is_left = plan is None
        return plan

    def findings(self) -> list[Finding]:
        """What is known about every test that ever failed."""
        return self._suspects.findings()

    def conclude(self) -> list[Finding]:
        """The findings as they stand, with every confirmed further polluter, state-setter and cleaner."""
        return self._completion.completed_findings()
