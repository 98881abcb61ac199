"""The plans that wait for a free worker, and which of them may start now.

Some runs may have nothing beside them. They wait until nothing runs; meanwhile only such plans start that are
expected to end before the runs that go on, so that no core waits for a long run (schedulers of clusters call it
backfilling).
"""

from __future__ import annotations

import time
from collections import Counter, deque
from collections.abc import Callable, Iterable
from math import inf
from typing import Protocol

from flakehound.core.history import History
from flakehound.core.plans import RunPlan, Setting, longest_part, without_running
from flakehound.engine.processes.pool import Job
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.engine.suite.plans_aside import PlansAside

_MAX_UNAFFORDABLE_PLANS = 20  # in a row, after which the search is not asked for more
# A run that takes longer than expected is expected to go on for this share of its time so far, so that other cores
# do not wait for it.
_OVERDUE_SHARE = 0.1
_MAX_LONGER_PLANS = 4  # of the search that wait because they would not end before the runs that go on


class Planner(Protocol):
    """Decides what runs next; see `hunt.agenda`."""

    def follow_ups(self) -> list[RunPlan]:
        """All runs that suspects need now; a plan occurs as often as it has to run."""

    def next_search_run(self) -> RunPlan | None:
        """The next run of the search for further flaky tests; None when there is none."""


class PlanQueue:
    """Asks the planner for plans and returns the next one that may start."""

    def __init__(
        self,
        opened: OpenSuite,
        history: History,
        budget: Budget,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._opened = opened
        self._pool = opened.pool
        self._history = history
        self._budget = budget
        self._clock_s = clock_s
        self._follow_ups: deque[RunPlan] = deque()
        self._split_plans: deque[RunPlan] = deque()  # parts of plans whose process cannot be copied
        self._longer_plans: deque[RunPlan] = deque()  # would not have ended before the runs that went on
        self._aside = PlansAside(lambda: budget.spent_s)  # wait until nothing runs
        self._records_planned_from = -1
        self._left_running: list[Job] = []  # by an earlier loop
        self.is_beside_reference = False  # no run can be undisturbed
        self._undisturbed_waits = False  # such a plan could not start because others ran

    def note_left_running(self) -> None:
        """Remember the runs that go on already: the planner does not know of them."""
        self._left_running = list(self._pool.running)

    def add_parts(self, plans: Iterable[RunPlan]) -> None:
        """Add parts of a plan that has to be split."""
        self._split_plans.extend(plans)

    def next(self, planner: Planner) -> RunPlan | None:
        """The next plan that may start now; None if there is none."""
        running = self._pool.running
        if any(self._opened.goes_alone(job.plan) for job in running):
            return None
        if not running:
            return (
                self._aside.next(self._fits_budget) or self._next_undisturbed(planner) or self._next_plan(planner)
            )
        return self._next_beside_others(planner)

    def _next_undisturbed(self, planner: Planner) -> RunPlan | None:
        """A plan that kept other plans from starting because nothing may run beside it, unless it is a long one.

        Otherwise it would wait again for the next run that starts first, and the other cores with it.
        """
        if not self._undisturbed_waits:
            return None
        self._update_follow_ups(planner)
        others_s = [self._history.costs.plan_s(plan) for plan in self._follow_ups if not plan.undisturbed]
        for plan in [plan for plan in self._follow_ups if plan.undisturbed]:
            if self._fits_budget(plan) and self._history.costs.plan_s(plan) <= max(others_s, default=inf):
                self._follow_ups.remove(plan)
                return plan
        self._undisturbed_waits = False
        return None

    def _next_beside_others(self, planner: Planner) -> RunPlan | None:
        """The next plan that may start while others run, and does not keep those waiting that go alone."""
        while not self._aside.are_due:
            plan = self._next_plan(planner)
            if plan is None:
                return None
            if plan.undisturbed:
                self._follow_ups.appendleft(plan)  # planned again after the next record, if it is still needed
                self._undisturbed_waits = True
                break
            if not self._opened.goes_alone(plan):
                return plan
            self._aside.add(plan)
        return self._next_that_ends_in(max(map(self._expected_left_s, self._pool.running)), planner)

    def _expected_left_s(self, job: Job) -> float:
        now_s = self._clock_s()
        return max(job.expected_end_s - now_s, _OVERDUE_SHARE * (now_s - job.started_s))

    def _next_that_ends_in(self, seconds: float, planner: Planner) -> RunPlan | None:
        for waiting in (self._follow_ups, self._split_plans):
            plan = next((plan for plan in waiting if self._ends_in(seconds, plan)), None)
            if plan is not None:
                waiting.remove(plan)
                return plan
        while len(self._longer_plans) < _MAX_LONGER_PLANS:
            plan = self._next_of_search(planner)
            if plan is None or self._ends_in(seconds, plan):
                return plan
            self._longer_plans.append(plan)
        return None

    def _ends_in(self, seconds: float, plan: RunPlan) -> bool:
        return not self._opened.goes_alone(plan) and self._history.costs.plan_s(plan) <= seconds

    def _update_follow_ups(self, planner: Planner) -> None:
        if len(self._history.records) != self._records_planned_from:
            self._records_planned_from = len(self._history.records)
            self._follow_ups = deque(self._without_planned(planner.follow_ups()))

    def _next_plan(self, planner: Planner) -> RunPlan | None:
        self._update_follow_ups(planner)
        plan = self._next_waiting() or self._next_of_search(planner)
        if plan is None:
            # The search is over, so expensive follow-ups no longer have to wait for it.
            self._follow_ups = deque(self._without_planned(planner.follow_ups()))
            plan = self._next_waiting()
        return plan

    def _next_waiting(self) -> RunPlan | None:
        for waiting in (self._follow_ups, self._split_plans, self._longer_plans):
            while waiting:
                plan = waiting.popleft()
                if self._fits_budget(plan):
                    return plan
        return None

    def _next_of_search(self, planner: Planner) -> RunPlan | None:
        """The next plan of the search that fits the time left; if no one does, a part of the first one."""
        unaffordable = None
        for _attempt in range(_MAX_UNAFFORDABLE_PLANS):
            plan = planner.next_search_run()
            if plan is None:
                break
            left_job = next((job for job in self._left_running if job.plan.key == plan.key), None)
            if left_job is not None:
                self._left_running.remove(left_job)  # the next plan with its key is another run
            if not self._fits_budget(plan):
                unaffordable = unaffordable or (None if plan.setting is Setting.ORIGINAL else plan)
            elif left_job is None or left_job not in self._pool.running:
                return plan
        return None if unaffordable is None else longest_part(unaffordable, self._fits_budget)

    def _without_planned(self, plans: list[RunPlan]) -> list[RunPlan]:
        """The plans that neither run nor wait already."""
        planned = [*(job.plan for job in self._pool.running), *self._aside.plans, *self._longer_plans]
        keys = Counter(plan.key for plan in planned)
        missing = []
        for plan in plans:
            if keys[plan.key]:
                keys[plan.key] -= 1
            elif rest := without_running(plan, planned):
                missing.append(rest)
        return missing

    def _fits_budget(self, plan: RunPlan) -> bool:
        """Whether the plan can run now and is expected to end within the budget."""
        if plan.undisturbed and self.is_beside_reference:
            return False
        return self._history.costs.plan_s(plan) <= self._budget.left_s
