"""Decide what runs next: follow-ups of suspects, then the search, then the completion of proven cases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from math import inf

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import RunPlan, Walk
from flakehound.hunt import limits, long_limits
from flakehound.hunt.completion import CompletionStage
from flakehound.hunt.diagnosis.findings import Finding
from flakehound.hunt.group_sweep import GroupSweep
from flakehound.hunt.options import INDEX, SearchOptions
from flakehound.hunt.search.by_index import IndexSearch
from flakehound.hunt.search.long_suite import LongSuite
from flakehound.hunt.search.stages import StagedSearch
from flakehound.hunt.suspects import Suspects


class Agenda:
    """Chooses the next run of a hunt; decides again after each run."""

    def __init__(self, history: History, options: SearchOptions, time_left_s: Callable[[], float]) -> None:
        self._history = history
        self._options = options
        self._time_left_s = time_left_s
        self._time_at_start_s = time_left_s()
        self._suspects = Suspects(history, options)
        self._sweep = GroupSweep(
            history,
            lambda: self._suspects.group_runs,
            self._suspects.findings,
            copies_processes=options.snapshots,
            doubtful=options.doubtful.tests,
        )
        search = IndexSearch if options.policy == INDEX else StagedSearch
        long_suite = LongSuite(history, options, self._sweep, lambda: self._suspects.group_runs.groups)
        self._search = search(history, options, lambda: self._suspects.test_order, long_suite)
        self._search_plans: Iterator[RunPlan] = self._search.plans(time_left_s)
        self._completion = CompletionStage(history, options, self._suspects, time_left_s, long_suite)
        self._search_is_over = False
        self._has_no_more_plans = False

    @property
    def stage(self) -> str:
        """The current stage in one word, for the progress line."""
        if self._completion.has_begun:
            return "completing"
        return "settling" if self._search_is_over else "sweeping"

    @property
    def is_done(self) -> bool:
        """Whether every suspect is settled and the search has made all its runs."""
        search_is_complete = self._has_no_more_plans or self._options.endless
        return search_is_complete and all(finding.is_complete for finding in self.findings())

    @property
    def pairs_used(self) -> str:
        """Which form of PAIRWISE ran; empty when none did."""
        return self._search.pairs_used

    @property
    def ended_early(self) -> bool:
        """Whether the search ended because it expected no further detections."""
        return self._search.ended_early

    @property
    def under_load(self) -> tuple[NodeId, ...]:
        """The tests that, so far, seem to fail only while other runs are going on."""
        return self._suspects.under_load

    def expected_detections_in(self, seconds: float) -> float | None:
        """Detections expected from this much more time; None if the policy makes no forecast."""
        return self._search.expected_detections_in(seconds)

    def runs_at_once(self, jobs: int) -> int:
        """How many runs may go on in parallel: fewer than `jobs` if several tests probably fail under load."""
        return self._suspects.runs_at_once(jobs)

    def follow_ups(self) -> list[RunPlan]:
        """The runs that the suspects need; a plan that several suspects need is not repeated for each of them."""
        self._suspects.update()
        questions = list(self._open_questions())
        plans_ahead = long_limits.MAX_GROUPS_AHEAD + self._options.jobs
        questions += [[plan] for plan in self._completion.plans_in_groups(plans_ahead)]
        if self._completion.has_begun:
            questions += [[plan] for plan in self._completion.confirmations()]
        # Runs with nothing beside them wait until the others are made, but not for long runs that suspects share.
        separate = sorted(self._affordable_now(questions), key=lambda plan: plan.undisturbed)
        return [*separate, *self._runs_of_groups()]

    def _runs_of_groups(self) -> list[RunPlan]:
        """Runs of groups that suspects share; not before the first orders have shown most of the suspects."""
        is_late = self._time_left_s() < limits.MIN_LEFT_SHARE_FOR_WAITING * self._time_at_start_s
        if self._search.awaits_first_orders and not is_late:
            return []
        return self._sweep.plans_for_suspects(long_limits.MAX_GROUPS_AHEAD + self._options.jobs)

    def _open_questions(self) -> Iterator[list[RunPlan]]:
        """For each suspect the runs that it needs and no suspect before it has asked for."""
        planned_times: Counter[object] = Counter()
        for finding in self.findings():
            counts = Counter(plan.key for plan in finding.needed_runs)
            question: list[RunPlan] = []
            for plan in finding.needed_runs:
                if planned_times[plan.key] < counts[plan.key]:
                    planned_times[plan.key] += 1
                    question.append(plan)
            if question:
                yield question

    def _affordable_now(self, questions: list[list[RunPlan]]) -> list[RunPlan]:
        """The plans, cheapest first; expensive ones are left out until the first look at the suite is over.

        Only the tests count: what a process costs without them is the same for every suspect, and one start of an
        interpreter takes more than an early run may in a hunt of 30 suite times. The runs of one question stay
        together: two orders cannot alternate if the cheaper one always comes first.
        """
        costs = self._history.costs
        cheapest_first = sorted(
            ((max(map(costs.plan_tests_s, question)), question) for question in questions),
            key=lambda cost_and_question: cost_and_question[0] // limits.EQUAL_COST_S,
        )
        is_late = self._time_left_s() < limits.MIN_LEFT_SHARE_FOR_WAITING * self._time_at_start_s
        is_early = self._search.at_first_look and not is_late
        max_cost_s = limits.MAX_EARLY_RUN_SHARE * self._time_at_start_s if is_early else inf
        affordable = [
            (cost_s, question)
            for cost_s, question in cheapest_first
            if cost_s <= max_cost_s and self._can_be_completed(question, cost_s)
        ]
        return [plan for question in self._few_long_questions(affordable) for plan in question]

    def _few_long_questions(self, questions: list[tuple[float, list[RunPlan]]]) -> Iterator[list[RunPlan]]:
        """All short questions, and so many long ones that half of the jobs go on with the search.

        One suspect whose search takes many long runs must not keep the others from being found.
        """
        left = inf if self._search_is_over or self._options.jobs == 1 else self._options.jobs // 2
        for cost_s, question in questions:
            is_long = cost_s >= long_limits.LONG_ORDER_S
            left -= is_long
            if not is_long or left >= 0:
                yield question

    def _can_be_completed(self, question: list[RunPlan], cost_s: float) -> bool:
        """Whether a search by long walks is likely to end in time: each takes several of them."""
        is_long_walk = any(isinstance(plan, Walk) for plan in question) and cost_s >= long_limits.LONG_ORDER_S
        return not is_long_walk or long_limits.LONG_WALKS_PER_SEARCH * cost_s <= self._time_left_s()

    def next_search_run(self) -> RunPlan | None:
        """The next run that looks for flaky tests; None when nothing is left to do."""
        is_late = self._time_left_s() < limits.COMPLETION_SHARE * self._time_at_start_s
        plan = self._completion.next_plan() if is_late else None
        plan = plan or (None if self._search_is_over else next(self._search_plans, None))
        if plan is None:
            self._search_is_over = True
            plan = self._completion.next_plan()
            self._has_no_more_plans = plan is None
        return plan

    def findings(self) -> list[Finding]:
        """The findings about every test that ever failed."""
        return self._suspects.findings()

    def conclude(self) -> list[Finding]:
        """The final findings, with every further polluter, state-setter and cleaner that was confirmed."""
        return self._completion.completed_findings()
