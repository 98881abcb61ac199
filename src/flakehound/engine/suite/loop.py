"""The loop of a hunt: plan, run, save, plan again, until the time is up or nothing is left to do."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from flakehound.core.doubtful_failures import DoubtfulFailures, doubtful_failures, without_doubtful_failures
from flakehound.core.history import History
from flakehound.core.plans import Isolation, RunPlan, SingleRun, Walk, single_run, without_tests
from flakehound.core.records import RunRecord
from flakehound.engine.processes.forkserver import ServerLost
from flakehound.engine.processes.handshake import CollectionTimeout
from flakehound.engine.processes.limits import Limits, test_limit_for
from flakehound.engine.processes.pool import Job
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.file_writers import left_out_beside
from flakehound.engine.suite.open_suite import OpenSuite
from flakehound.engine.suite.plan_queue import Planner, PlanQueue
from flakehound.engine.suite.reference_run import ReferenceRun

_POLL_S = 0.2  # between two progress reports and checks of the time
_IDLE_POLL_S = 1.0  # the same beside a reference run, when the planner has no run that could go on beside it
_MAX_WAIT_FOR_CANCELLED_S = 2.0  # a cancelled run is killed within a tenth of a second


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
        self._queue = PlanQueue(opened, history, budget)
        self._held_records: list[RunRecord] | None = None  # of runs beside the reference run; None: it has ended
        self.work_done = WorkDone() if work_done is None else work_done
        self.doubtful_failures = DoubtfulFailures()  # of runs that wrote the same files as the reference run

    def run(self, planner: Planner) -> None:
        """Work until the budget is spent or the planner has nothing more."""
        self._queue.note_left_running()
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

        The records of the runs beside it are added after it, unless it shows that runs disturb each other: then
        failures of all of them are only `doubtful_failures`. Runs that still go on are left to the next loop.
        """
        run = self._opened.reference_run
        if run is None:
            return
        self._held_records, self._pool.is_disturbed, self._queue.is_beside_reference = [], True, True
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
        went_beside_others = self._opened.reference_run.went_beside_others
        if self._opened.must_run_alone or self._opened.writes_files_so_far:
            self._cancel_rest()
        self._opened.finish_reference(self._budget.left_s)
        if self._opened.shares_state:
            self._cancel_rest()
        held, self._held_records = self._held_records, None
        self._pool.is_disturbed = self._queue.is_beside_reference = False
        reference = [record for record in self._opened.reference if record.executed]
        if went_beside_others and self._opened.shares_state:
            self.doubtful_failures = doubtful_failures(reference, held or ())
            reference, held = [without_doubtful_failures(record) for record in reference], None
        self._add([*reference, *(held or ())])

    def _max_running(self) -> int:
        if self._opened.runs_one_at_a_time:
            return 1
        runs_at_once = self._runs_at_once(self._pool.jobs)
        return runs_at_once if self._held_records is None else runs_at_once - 1

    def _fill_pool(self, planner: Planner) -> None:
        while len(self._pool.running) < self._max_running():
            plan = self._queue.next(planner)
            plan = plan and self._without_writers(plan)
            if plan is None:
                return
            self._submit(plan)

    def _without_writers(self, plan: RunPlan) -> RunPlan | None:
        """The part of the plan that may run now: beside the reference run no test that writes the same files."""
        if self._held_records is None:
            return plan
        run = self._opened.reference_run
        left_out = None if run is None else left_out_beside(run.file_writers, len(self._opened.suite.tests))
        return None if left_out is None else without_tests(plan, left_out)

    def _submit(self, plan: RunPlan) -> None:
        guard = self._opened.guard
        if self._opened.writers is not None and self._opened.writers.are_in_copies_of(plan):
            plan, *others = _without_copies(plan)
            self._queue.add_parts(others)
        if plan.seed is None:
            plan = replace(plan, seed=self._rng.randrange(2**32))
        if plan.isolation is Isolation.SPAWN and plan.hash_seed is None:
            plan = replace(plan, hash_seed=self._opened.hash_seed)
        if guard is not None:
            (guard.restore_for_spawn if plan.isolation is Isolation.SPAWN else guard.restore_for_fork)()
        job = self._pool.submit(plan, self._limits())
        job.started_s = time.monotonic()
        job.expected_end_s = job.started_s + self._history.costs.plan_s(plan)

    def _limits(self) -> Limits:
        if self._history.records:
            return Limits(test_limit_s=test_limit_for(self._history.slowest_test_s, self._test_limit_s))
        return self._opened.first_limits if self._test_limit_s is None else Limits(test_limit_s=self._test_limit_s)

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
