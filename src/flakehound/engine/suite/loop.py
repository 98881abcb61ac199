"""The loop of a hunt: plan, run, save, plan again, until the time is up or nothing is left to do."""

from __future__ import annotations

import random
from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from flakehound.core.history import History
from flakehound.core.plans import Isolation, RunPlan, SingleRun, Walk, single_run, without_running
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ServerLost
from flakehound.engine.processes.handshake import CollectionTimeout
from flakehound.engine.processes.limits import Limits, test_limit_for
from flakehound.engine.processes.pool import Job
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.engine.suite.plans_aside import PlansAside
from flakehound.engine.suite.reference_run import ReferenceRun

_POLL_S = 0.2  # between two progress reports and checks of the time
_IDLE_POLL_S = 1.0  # the same beside a reference run, when the planner has no run that could go on beside it
_MAX_WAIT_FOR_CANCELLED_S = 2.0  # a cancelled run is killed within a tenth of a second
_MAX_UNAFFORDABLE_PLANS = 20  # in a row, after which the search is not asked for more


class Planner(Protocol):
    """Decides what runs next; see `hunt.agenda`."""

    def follow_ups(self) -> list[RunPlan]:
        """All runs that suspects need now; a plan occurs as often as it has to run."""

    def next_search_run(self) -> RunPlan | None:
        """The next run of the search for further flaky tests; None when there is none."""


@dataclass(slots=True)
class WorkDone:
    """What the loop has run so far."""

    test_runs: int = 0
    processes: int = 0
    cpu_s: float = 0.0


class RunLoop:
    """Runs what a planner plans, several plans at a time, and adds the records to the history."""

    def __init__(
        self,
        opened: OpenSuite,
        history: History,
        budget: Budget,
        *,
        save: Callable[[Sequence[RunRecord]], None],
        seed: int,
        test_limit_s: float | None = None,
        report: Callable[[WorkDone], None] = lambda _done: None,
        runs_at_once: Callable[[int], int] = lambda max_running: max_running,
        work_done: WorkDone | None = None,
    ) -> None:
        self._opened = opened
        self._pool = opened.pool
        self._history = history
        self._budget = budget
        self._save = save
        self._rng = random.Random(seed)
        self._test_limit_s = test_limit_s
        self._report = report
        self._runs_at_once = runs_at_once  # how many of this many jobs may run in parallel now
        self._retried_plans: set[object] = set()
        self._waiting: deque[RunPlan] = deque()
        self._split_plans: deque[RunPlan] = deque()  # parts of plans whose process cannot be copied
        self._aside = PlansAside(lambda: budget.spent_s)  # wait until nothing runs
        self._records_planned_from = -1
        self._left_running: list[Job] = []  # by an earlier loop
        self._held_records: list[RunRecord] | None = None  # of runs beside the reference run; None: it has ended
        self.work_done = WorkDone() if work_done is None else work_done

    def run(self, planner: Planner) -> None:
        """Work until the budget is spent or the planner has nothing more."""
        self._left_running = list(self._pool.running)
        try:
            while self._budget.left_s > 0:
                self._fill_pool(planner)
                if not self._pool.running:
                    return
                self._handle_finished(self._pool.next_finished(min(_POLL_S, self._budget.left_s)))
                self._report(self.work_done)
        finally:
            self._cancel_rest()

    def run_beside_reference(self, planner: Planner) -> None:
        """Work until the reference run has ended or used up its time, then add its records.

        The records of the runs beside it are added after it, unless it shows that runs disturb each other. Runs
        that still go on then are left to the next loop.
        """
        run = self._opened.reference_run
        if run is None:
            return
        self._held_records, self._pool.is_disturbed = [], True
        try:
            while not run.is_over and self._budget.left_s > 0:
                _expect_costs(self._history, run, self._opened.start_s)
                if self._opened.must_run_alone:
                    self._cancel_rest()
                    self._held_records.clear()
                else:
                    self._fill_pool(planner)
                    run.went_beside_others = run.went_beside_others or bool(self._pool.running)
                self._wait_beside(run)
                self._report(self.work_done)
        except BaseException:
            self._cancel_rest()
            raise
        finally:
            self.finish_reference()

    def _wait_beside(self, run: ReferenceRun) -> None:
        if self._pool.running:
            self._handle_finished(self._pool.next_finished(_POLL_S))
        else:
            run.join(_IDLE_POLL_S)

    def finish_reference(self) -> None:
        """End the reference run, and add its records and those of the runs that ended beside it."""
        if self._opened.reference_run is None:
            return
        if self._opened.must_run_alone:
            self._cancel_rest()
        self._opened.finish_reference(self._budget.left_s)
        if self._opened.shares_state:
            self._cancel_rest()
        held, self._held_records, self._pool.is_disturbed = self._held_records, None, False
        self._add([record for record in self._opened.reference if record.executed])
        if held and not self._opened.shares_state:
            self._add(held)

    def _max_running(self) -> int:
        if self._opened.runs_one_at_a_time:
            return 1
        runs_at_once = self._runs_at_once(self._pool.jobs)
        return runs_at_once if self._held_records is None else runs_at_once - 1

    def _fill_pool(self, planner: Planner) -> None:
        max_running = self._max_running()
        while len(self._pool.running) < max_running and not any(
            self._opened.goes_alone(job.plan) for job in self._pool.running
        ):
            if self._aside.are_due and self._pool.running:
                return
            plan = None if self._pool.running else self._aside.next(self._fits_budget)
            plan = plan or self._next_plan(planner)
            if plan is None:
                return
            if self._opened.goes_alone(plan) and self._pool.running:
                if plan.undisturbed:
                    self._waiting.appendleft(plan)
                    return
                self._aside.add(plan)
                continue
            self._submit(plan)

    def _next_plan(self, planner: Planner) -> RunPlan | None:
        if len(self._history.records) != self._records_planned_from:
            self._records_planned_from = len(self._history.records)
            self._waiting = deque(self._without_running(planner.follow_ups()))
        plan = self._next_waiting() or self._next_of_search(planner)
        if plan is None:
            # The search is over, so expensive follow-ups no longer have to wait for it.
            self._waiting = deque(self._without_running(planner.follow_ups()))
            plan = self._next_waiting()
        return plan

    def _next_waiting(self) -> RunPlan | None:
        for waiting in (self._waiting, self._split_plans):
            while waiting:
                plan = waiting.popleft()
                if self._fits_budget(plan):
                    return plan
        return None

    def _next_of_search(self, planner: Planner) -> RunPlan | None:
        for _attempt in range(_MAX_UNAFFORDABLE_PLANS):
            plan = planner.next_search_run()
            if plan is None:
                return None
            left_job = next((job for job in self._left_running if job.plan.key == plan.key), None)
            if left_job is not None:
                self._left_running.remove(left_job)  # the next plan with its key is another run
            if self._fits_budget(plan) and (left_job is None or left_job not in self._pool.running):
                return plan
        return None

    def _without_running(self, plans: list[RunPlan]) -> list[RunPlan]:
        planned = [*(job.plan for job in self._pool.running), *self._aside.plans]
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
        if plan.undisturbed and self._held_records is not None:
            return False
        return self._history.costs.plan_s(plan) <= self._budget.left_s

    def _submit(self, plan: RunPlan) -> None:
        guard = self._opened.guard
        if self._opened.writers is not None and self._opened.writers.are_in_copies_of(plan):
            plan, *others = _without_copies(plan)
            self._split_plans.extend(others)
        if plan.seed is None:
            plan = replace(plan, seed=self._rng.randrange(2**32))
        if plan.isolation is Isolation.SPAWN and plan.hash_seed is None:
            plan = replace(plan, hash_seed=self._opened.hash_seed)
        if guard is not None:
            (guard.restore_for_spawn if plan.isolation is Isolation.SPAWN else guard.restore_for_fork)()
        self._pool.submit(plan, self._limits())

    def _limits(self) -> Limits:
        if self._history.records:
            return Limits(test_limit_s=test_limit_for(self._history.slowest_test_s, self._test_limit_s))
        return Limits() if self._test_limit_s is None else Limits(test_limit_s=self._test_limit_s)

    def _handle_finished(self, job: Job | None) -> None:
        if job is None:
            return
        if isinstance(job.error, ServerLost):
            self._recover(job)
            return
        if job.error is not None:
            raise job.error
        records = [record for record in job.records if record.executed]
        self._count_work(records)
        writers = self._opened.writers
        if writers is not None and writers.have_left_changes and not writers.are_in(job.plan):
            writers.forget()
            return  # it wrote shared files, or read what another run wrote
        if self._held_records is None:
            self._add(records)
        else:
            self._held_records += records

    def _add(self, records: Sequence[RunRecord]) -> None:
        self._save(records)
        for record in records:
            self._history.add(record)

    def _count_work(self, records: Sequence[RunRecord]) -> None:
        self.work_done.processes += len(records)
        self.work_done.test_runs += sum(record.executed for record in records)
        self.work_done.cpu_s += sum(record.usage.cpu_s for record in records)

    def _recover(self, job: Job) -> None:
        """Start a new collected session after a test ended the old one; its plan is tried once more at most."""
        while self._pool.running and self._budget.left_s > 0:
            self._handle_unless_failed(self._pool.next_finished(_POLL_S))
        try:
            self._opened.replace_server(self._budget.left_s)
        except CollectionTimeout:
            return  # the time is up
        if job.plan.key not in self._retried_plans:
            self._retried_plans.add(job.plan.key)
            self._pool.submit(replace(job.plan, isolation=Isolation.SPAWN), job.limits)

    def _handle_unless_failed(self, job: Job | None) -> None:
        if job is not None and job.error is None:
            self._handle_finished(job)

    def _cancel_rest(self) -> None:
        """End what still runs and save what it finished."""
        if not self._pool.running:
            return
        self._pool.cancel()
        for _wait in range(round(_MAX_WAIT_FOR_CANCELLED_S / _POLL_S)):
            if not self._pool.running:
                return
            self._handle_unless_failed(self._pool.next_finished(_POLL_S))


def _expect_costs(history: History, run: ReferenceRun, start_s: float) -> None:
    """Assume that tests without a time take as long as those of the reference run so far."""
    done = run.progress
    if done is not None and done.ended:
        history.times.expect(test_s=done.tests_s / done.ended, new_interpreter_s=start_s)


def _without_copies(plan: RunPlan) -> list[RunPlan]:
    """Split a plan into single runs if copies of one process would share files; a walk becomes one run."""
    match plan:
        case SingleRun():
            return [plan]
        case Walk():
            return [single_run(plan, plan.order)]
        case _:
            return [single_run(plan, order) for order in plan.orders]
