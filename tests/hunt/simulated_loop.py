"""The engine's loop (`engine/suite/loop.py`) with a simulator in place of processes and clock.

The queue of plans is the engine's own. The loop fills its jobs and cancels what is not done in time.
"""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass, field, replace
from itertools import accumulate
from math import inf
from types import SimpleNamespace
from typing import Protocol

from flakehound.core.history import History
from flakehound.core.outcomes import Outcome
from flakehound.core.plans import Isolation, RunPlan
from flakehound.core.records import CALLED_OFF, RunRecord
from flakehound.engine.suite.open_suite import MAX_REFERENCE_SHARE
from flakehound.engine.suite.plan_queue import PlanQueue
from flakehound.hunt.agenda import Agenda

SESSION_HASH_SEED = 77


class SimulatedSuite(Protocol):
    """Runs plans on a clock of its own; see `simulator.Simulator`."""

    clock_s: float

    def run(self, plan: RunPlan, *, disturbed: bool) -> list[RunRecord]:
        """Run a plan and move the clock on."""


@dataclass(order=True, slots=True)
class _RunningPlan:
    """A plan that was started, with what it will have shown at its end."""

    end_s: float
    number: int
    plan: RunPlan = field(compare=False)
    records: list[RunRecord] = field(compare=False)
    started_s: float = field(compare=False)
    expected_end_s: float = field(compare=False)


class _SimulatedPool:
    """What a queue of plans needs to know about the runs that go on."""

    def __init__(self, running: list[_RunningPlan]) -> None:
        self._running = running
        self.chosen: list[SimpleNamespace] = []  # to be started now

    @property
    def running(self) -> list[object]:
        return [*self._running, *self.chosen]


class _WatchedAgenda:
    """The agenda, which the loop may ask for follow-ups only; notes whether it had no more plans."""

    def __init__(self, agenda: Agenda) -> None:
        self._agenda = agenda
        self.follow_ups = agenda.follow_ups
        self.has_no_more_plans = False
        self.only_follow_ups = False

    def next_search_run(self) -> RunPlan | None:
        plan = None if self.only_follow_ups else self._agenda.next_search_run()
        self.has_no_more_plans = plan is None
        return plan


class SimulatedLoop:
    """The engine's loop, without processes: up to `jobs` plans at once."""

    def __init__(self, simulator: SimulatedSuite, history: History, agenda: Agenda, jobs: int, seed: int) -> None:
        self._simulator = simulator
        self._history = history
        self._agenda = agenda
        self._watched_agenda = _WatchedAgenda(agenda)
        self._jobs = jobs
        self._rng = random.Random(seed)
        self._running: list[_RunningPlan] = []
        self._pool = _SimulatedPool(self._running)
        self._started = 0
        self._budget = SimpleNamespace(left_s=inf, spent_s=0.0)
        self._queue = self._new_queue()

    def _new_queue(self) -> PlanQueue:
        suite = SimpleNamespace(pool=self._pool, goes_alone=lambda plan: plan.undisturbed)
        return PlanQueue(suite, self._history, self._budget, clock_s=lambda: self._simulator.clock_s)

    def run_beside(self, reference: RunPlan, deadline_s: float) -> None:
        """Run the first run of the suite and what the agenda plans beside it; its records come first."""
        self._queue.is_beside_reference = True
        began_s = self._simulator.clock_s
        cut_s = began_s + MAX_REFERENCE_SHARE * (deadline_s - began_s)
        self._start(reference, disturbed=True)
        (first,) = self._running
        self._running[:] = [replace(first, end_s=min(first.end_s, cut_s))]
        held: list[RunRecord] = []
        while True:
            self._fill(deadline_s)
            ended = heapq.heappop(self._running)
            self._simulator.clock_s = ended.end_s
            if ended.plan is reference:
                break
            held += ended.records
        records = ended.records if first.end_s <= cut_s else [_cut(r, cut_s - began_s) for r in ended.records]
        for record in [*records, *held]:
            if record.executed:
                self._history.add(record)

    def go_on_with(self, agenda: Agenda) -> None:
        """Use another agenda from now on; what runs goes on."""
        self._agenda, self._watched_agenda = agenda, _WatchedAgenda(agenda)
        self._queue = self._new_queue()
        self._queue.note_left_running()

    def run(self, max_plans: int, deadline_s: float, *, only_follow_ups: bool = False) -> bool:
        """Whether it ended because nothing was left to do, not because the time was up."""
        self._watched_agenda.only_follow_ups = only_follow_ups
        if only_follow_ups:
            self._running.clear()
        for _finished in range(max_plans):
            self._fill(deadline_s)
            if not self._running:
                return self._watched_agenda.has_no_more_plans
            first = heapq.heappop(self._running)
            if first.end_s > deadline_s:
                self._simulator.clock_s = deadline_s
                return False  # cancelled
            self._simulator.clock_s = first.end_s
            for record in first.records:
                if record.executed:
                    self._history.add(record)
        return False

    def _fill(self, deadline_s: float) -> None:
        now_s = self._simulator.clock_s
        self._budget.left_s, self._budget.spent_s = deadline_s - now_s, now_s
        while len(self._pool.running) < self._agenda.runs_at_once(self._jobs):
            plan = self._queue.next(self._watched_agenda)
            if plan is None:
                break
            expected_end_s = now_s + self._history.costs.plan_s(plan)
            self._pool.chosen.append(SimpleNamespace(plan=plan, started_s=now_s, expected_end_s=expected_end_s))
        chosen, self._pool.chosen = self._pool.chosen, []
        disturbed = len(self._running) + len(chosen) > 1
        for job in chosen:
            self._start(job.plan, disturbed=disturbed)

    def _start(self, plan: RunPlan, *, disturbed: bool) -> None:
        now_s = self._simulator.clock_s
        expected_end_s = now_s + self._history.costs.plan_s(plan)
        records = self._simulator.run(self._seeded(plan), disturbed=disturbed)
        self._started += 1
        started = _RunningPlan(self._simulator.clock_s, self._started, plan, records, now_s, expected_end_s)
        heapq.heappush(self._running, started)
        self._simulator.clock_s = now_s

    def _seeded(self, plan: RunPlan) -> RunPlan:
        hash_seed = plan.hash_seed
        if plan.isolation is Isolation.SPAWN and hash_seed is None:
            hash_seed = SESSION_HASH_SEED
        return replace(
            plan, seed=self._rng.randrange(2**32) if plan.seed is None else plan.seed, hash_seed=hash_seed
        )


def _cut(record: RunRecord, seconds: float) -> RunRecord:
    """The record of a run that was ended after this time."""
    ends_s = list(accumulate(record.durations_s, initial=record.usage.wall_s - sum(record.durations_s)))[1:]
    is_done = [end_s <= seconds for end_s in ends_s]
    outcomes = [
        outcome if done else Outcome.NOT_RUN for outcome, done in zip(record.outcomes, is_done, strict=True)
    ]
    return replace(record, outcomes=tuple(outcomes), ended=CALLED_OFF)
