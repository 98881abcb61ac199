"""The engine's loop (`engine/suite/loop.py`) with a simulator in place of processes and clock.

It fills its jobs, leaves out what does not fit into the time left, and cancels what is not done in time.
"""

from __future__ import annotations

import heapq
import random
from collections import Counter, deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from flakehound.core.history import History
from flakehound.core.plans import Isolation, RunPlan, without_running
from flakehound.core.records import RunRecord
from flakehound.hunt.agenda import Agenda

SESSION_HASH_SEED = 77
MAX_UNAFFORDABLE_PLANS = 20


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


class SimulatedLoop:
    """The engine's loop, without processes: up to `jobs` plans at once."""

    def __init__(self, simulator: SimulatedSuite, history: History, agenda: Agenda, jobs: int, seed: int) -> None:
        self._simulator = simulator
        self._history = history
        self._agenda = agenda
        self._jobs = jobs
        self._rng = random.Random(seed)
        self._waiting: deque[RunPlan] = deque()
        self._running: list[_RunningPlan] = []
        self._started = 0
        self._known_records = -1
        self._has_no_more_plans = False
        self._only_follow_ups = False

    def run(self, max_plans: int, deadline_s: float, *, only_follow_ups: bool = False) -> bool:
        """Whether it ended because nothing was left to do, not because the time was up."""
        self._only_follow_ups = only_follow_ups
        if only_follow_ups:
            self._running.clear()
        for _finished in range(max_plans):
            self._fill(deadline_s)
            if not self._running:
                return self._has_no_more_plans
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
        chosen: list[RunPlan] = []
        while len(self._running) + len(chosen) < self._agenda.runs_at_once(self._jobs):
            busy = [one.plan for one in self._running] + chosen
            if any(plan.undisturbed for plan in busy):
                break
            plan = self._next(busy, deadline_s - self._simulator.clock_s)
            if plan is None:
                break
            if plan.undisturbed and busy:
                self._waiting.appendleft(plan)
                break
            chosen.append(plan)
        for plan in chosen:
            self._start(plan, disturbed=len(self._running) + len(chosen) > 1)

    def start(self, plan: RunPlan) -> None:
        """Start a run that no planner asked for."""
        self._start(plan, disturbed=True)

    def _start(self, plan: RunPlan, *, disturbed: bool) -> None:
        now_s = self._simulator.clock_s
        records = self._simulator.run(self._seeded(plan), disturbed=disturbed)
        self._started += 1
        heapq.heappush(self._running, _RunningPlan(self._simulator.clock_s, self._started, plan, records))
        self._simulator.clock_s = now_s

    def _next(self, busy: Sequence[RunPlan], left_s: float) -> RunPlan | None:
        if len(self._history.records) != self._known_records:
            self._known_records = len(self._history.records)
            self._update_follow_ups(busy)
        plan = self._next_waiting(left_s)
        for _attempt in range(MAX_UNAFFORDABLE_PLANS if plan is None else 0):
            search = None if self._only_follow_ups else self._agenda.next_search_run()
            self._has_no_more_plans = search is None
            if search is None:
                break
            if self._fits(search, left_s):
                return search
        if plan is None:
            self._update_follow_ups(busy)  # what had to wait for the search need not wait any longer
            plan = self._next_waiting(left_s)
        return plan

    def _next_waiting(self, left_s: float) -> RunPlan | None:
        while self._waiting:
            plan = self._waiting.popleft()
            if self._fits(plan, left_s):
                return plan
        return None

    def _update_follow_ups(self, busy: Sequence[RunPlan]) -> None:
        made = Counter(plan.key for plan in busy)
        follow_ups = self._agenda.follow_ups()
        rest = [without_running(plan, busy) for plan in follow_ups if not _take_running(made, plan)]
        self._waiting = deque(plan for plan in rest if plan is not None)

    def _fits(self, plan: RunPlan, left_s: float) -> bool:
        return self._history.costs.plan_s(plan) <= left_s

    def _seeded(self, plan: RunPlan) -> RunPlan:
        hash_seed = plan.hash_seed
        if plan.isolation is Isolation.SPAWN and hash_seed is None:
            hash_seed = SESSION_HASH_SEED
        return replace(
            plan, seed=self._rng.randrange(2**32) if plan.seed is None else plan.seed, hash_seed=hash_seed
        )


def _take_running(busy: Counter[object], plan: RunPlan) -> bool:
    if not busy[plan.key]:
        return False
    busy[plan.key] -= 1
    return True
