"""A fake suite that runs plans without processes, so that a whole hunt takes milliseconds.

What a fake test does is a pure function of a `Moment`. The simulator turns plans into run records the way the
engine does: branches share their trunk, a crash ends its process, a new interpreter starts over.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import (
    CollectedTest,
    CopyingPlan,
    Isolation,
    Order,
    RunPlan,
    Setting,
    SingleRun,
    Suite,
    Walk,
)
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Verdict
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.options import SearchOptions

SESSION_HASH_SEED = 77
FORK_S = 0.01
TEST_S = 0.001


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Everything a fake test may look at when it runs."""

    test: NodeId
    earlier: Order  # ran before it in the same process
    following: NodeId | None  # None: it is the last of its process
    seed: int
    hash_seed: int
    isolation: Isolation
    disturbed: bool
    age_s: float  # of the session it was forked from; 0.0 in a new interpreter
    now_s: float  # of the simulator's clock
    draw: float  # a new random number from 0 to 1 for every execution


Behaviour = Callable[[Moment], Outcome]


def suite_of(*names: str) -> Suite:
    """Tests by name; `a.py::A::x` is in class `a.py::A`, a bare `x` in the file `t.py`."""
    return Suite(tests=tuple(_collected(name) for name in names))


def _collected(name: str) -> CollectedTest:
    full = name if "::" in name else f"t.py::{name}"
    return CollectedTest(id=NodeId(full), module=full.partition("::")[0], parent=full.rpartition("::")[0])


def id_of(name: str) -> NodeId:
    """The node id of a test by its name in `suite_of`."""
    return _collected(name).id


@dataclass(slots=True)
class Simulator:
    """One fake suite and its clock; a test without a behaviour passes."""

    suite: Suite
    behaviours: Mapping[NodeId, Behaviour] = field(default_factory=dict)
    seed: int = 0
    test_s: Mapping[NodeId, float] = field(default_factory=dict)
    clock_s: float = 1000.0
    started: list[tuple[RunPlan, bool]] = field(default_factory=list)  # each plan, and whether it was disturbed
    _rng: random.Random = field(default_factory=random.Random)
    _began_s: float = 1000.0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)

    def run(self, plan: RunPlan, *, disturbed: bool = False) -> list[RunRecord]:
        """The records that the engine would return for this plan."""
        self.started.append((plan, disturbed))
        if plan.isolation is Isolation.SPAWN:
            return [
                self._record(plan, order, self._process(plan, order, (), disturbed), disturbed)
                for order in plan.orders
            ]
        if isinstance(plan, SingleRun):
            outcomes = self._process(plan, plan.order, (), disturbed)
            return [self._record(plan, plan.order, outcomes, disturbed)]
        return self._run_copies(plan, disturbed)

    def _run_copies(self, plan: CopyingPlan, disturbed: bool) -> list[RunRecord]:
        trunk = self._process(plan, plan.trunk, (), disturbed, is_copied=True)
        until = plan.until if isinstance(plan, Walk) else None
        records, counted = [], 0
        for copy, order in zip(plan.copies, plan.orders, strict=True):
            before = trunk[: copy.after]
            if plan.trunk and (len(before) < copy.after or _ends_process(before)):
                break
            outcomes = self._process(plan, copy.tests, plan.trunk[: copy.after], disturbed)
            before = [Outcome.NOT_RUN] * counted + before[counted:]
            records.append(self._record(plan, order, before + outcomes, disturbed))
            counted = copy.after
            if until and outcomes and _effect_of(outcomes[-1]) == until:
                return records
        if not records or len(trunk) > counted:
            rest = [Outcome.NOT_RUN] * counted + trunk[counted:]
            records.append(self._record(plan, plan.trunk, rest, disturbed))
        return records

    def outcome_of_last(self, order: Sequence[NodeId], *, seed: int = 0) -> Outcome:
        """The outcome of the last test of an order in one undisturbed new process."""
        plan = SingleRun(order=tuple(order), why="", setting=Setting.PROBE, seed=seed)
        return self.run(plan)[0].last

    def _process(
        self, plan: RunPlan, order: Order, before: Order, disturbed: bool, *, is_copied: bool = False
    ) -> list[Outcome]:
        seed = plan.seed if plan.seed is not None else self._rng.randrange(2**32)
        hash_seed = plan.hash_seed if plan.isolation is Isolation.SPAWN else None
        forked = plan.isolation is Isolation.FORK
        outcomes: list[Outcome] = []
        self.clock_s += FORK_S
        for place, test in enumerate(order):
            self.clock_s += self.test_s.get(test, TEST_S)
            moment = Moment(
                test=test,
                earlier=before + order[:place],
                following=order[place + 1] if place + 1 < len(order) else (test if is_copied else None),
                seed=seed,
                hash_seed=SESSION_HASH_SEED if hash_seed is None else hash_seed,
                isolation=plan.isolation,
                disturbed=disturbed,
                age_s=self.clock_s - self._began_s if forked else 0.0,
                now_s=self.clock_s,
                draw=self._rng.random(),
            )
            outcomes.append(self.behaviours.get(test, passes)(moment))
            if _ends_process(outcomes):
                break
        return outcomes

    def _record(self, plan: RunPlan, order: Order, outcomes: list[Outcome], disturbed: bool) -> RunRecord:
        missing = [Outcome.NOT_RUN] * (len(order) - len(outcomes))
        all_outcomes = (*outcomes, *missing)
        spent = [
            0.0 if o is Outcome.NOT_RUN else self.test_s.get(t, TEST_S)
            for t, o in zip(order, all_outcomes, strict=True)
        ]
        return RunRecord(
            order=order,
            outcomes=all_outcomes,
            durations_s=spent,
            setting=plan.setting,
            isolation=plan.isolation,
            why=plan.why,
            seed=plan.seed,
            hash_seed=SESSION_HASH_SEED if plan.hash_seed is None else plan.hash_seed,
            disturbed=disturbed,
            started_s=self.clock_s,
        )


def _effect_of(outcome: Outcome) -> str:
    return "fails" if outcome.is_failure else "passes" if outcome.is_pass else ""


def _ends_process(outcomes: Sequence[Outcome]) -> bool:
    return bool(outcomes) and outcomes[-1] in (Outcome.CRASHED, Outcome.TIMED_OUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedHunt:
    """A hunt that has ended."""

    simulator: Simulator
    history: History
    agenda: Agenda
    verdicts: Mapping[NodeId, Verdict]
    settled: bool  # whether it ended because nothing was left to do

    def verdict(self, name: str) -> Verdict:
        """The verdict on a test by its name in `suite_of`."""
        return self.verdicts[id_of(name)]

    @property
    def processes(self) -> int:
        """Plans started."""
        return len(self.simulator.started)


def hunt(
    simulator: Simulator,
    *,
    max_plans: int = 3000,
    history: History | None = None,
    with_reference: bool = True,
    time_left_s: float = 1e6,
    hunt_seed: int = 5,
    **options: object,
) -> SimulatedHunt:
    """Run the plans of an agenda as the engine's loop does, until it has none or the time is up."""
    search_options = SearchOptions(seed=hunt_seed, **options)  # type: ignore[arg-type]
    history = History(simulator.suite) if history is None else history
    if with_reference:
        for record in simulator.run(reference_plan(simulator.suite)):
            history.add(record)
    deadline_s = simulator.clock_s + time_left_s
    agenda = Agenda(history, search_options, lambda: max(0.0, deadline_s - simulator.clock_s))
    settled = _Driver(simulator, history, agenda, search_options.jobs, hunt_seed).drive(max_plans, deadline_s)
    verdicts = {verdict.id: verdict for verdict in judge(history, agenda.conclude())}
    return SimulatedHunt(simulator=simulator, history=history, agenda=agenda, verdicts=verdicts, settled=settled)


def reference_plan(suite: Suite) -> RunPlan:
    """The suite once as plain pytest runs it, which the engine does before the hunt begins."""
    return SingleRun(
        order=suite.order,
        why="the suite as plain pytest runs it",
        setting=Setting.ORIGINAL,
        isolation=Isolation.SPAWN,
        seed=None,
        hash_seed=SESSION_HASH_SEED,
    )


class _Driver:
    """The engine's loop, without processes: up to `jobs` plans at once."""

    def __init__(self, simulator: Simulator, history: History, agenda: Agenda, jobs: int, seed: int) -> None:
        self._simulator = simulator
        self._history = history
        self._agenda = agenda
        self._jobs = jobs
        self._rng = random.Random(seed)
        self._waiting: deque[RunPlan] = deque()
        self._known_records = -1

    def drive(self, max_plans: int, deadline_s: float) -> bool:
        for _step in range(max_plans):
            if self._simulator.clock_s >= deadline_s:
                return False
            plans = self._next_plans()
            if not plans:
                return True
            for plan in plans:
                for record in self._simulator.run(self._seeded(plan), disturbed=len(plans) > 1):
                    if record.executed:
                        self._history.add(record)
        return False

    def _next_plans(self) -> list[RunPlan]:
        plans: list[RunPlan] = []
        while len(plans) < self._agenda.runs_at_once(self._jobs):
            plan = self._next(plans)
            if plan is None:
                break
            if plan.undisturbed and plans:
                self._waiting.appendleft(plan)
                break
            plans.append(plan)
            if plan.undisturbed:
                break
        return plans

    def _next(self, running: Sequence[RunPlan]) -> RunPlan | None:
        if len(self._history.records) != self._known_records:
            self._known_records = len(self._history.records)
            busy = Counter(plan.key for plan in running)
            follow_ups = sorted(self._agenda.follow_ups(), key=lambda plan: plan.undisturbed)
            self._waiting = deque(plan for plan in follow_ups if not _take_running(busy, plan))
        return self._waiting.popleft() if self._waiting else self._agenda.next_search_run()

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


# Behaviours


def passes(_moment: Moment) -> Outcome:
    """A steady test."""
    return Outcome.PASSED


def always(outcome: Outcome) -> Behaviour:
    """Always the same outcome."""
    return lambda _moment: outcome


def fails_if(condition: Callable[[Moment], bool], how: Outcome = Outcome.FAILED) -> Behaviour:
    """Fails under a condition, passes otherwise."""
    return lambda moment: how if condition(moment) else Outcome.PASSED


def fails_by_chance(rate: float) -> Behaviour:
    """Fails with this probability in every execution."""
    return fails_if(lambda moment: moment.draw < rate)


def fails_by_seed(rate: float) -> Behaviour:
    """The random seed of the process decides."""
    return fails_if(lambda moment: random.Random(f"{moment.seed}:{moment.test}").random() < rate)


def fails_by_hash_seed(*, passing: int = SESSION_HASH_SEED) -> Behaviour:
    """Half of the hash seeds fail, the session's own passes."""
    return fails_if(lambda moment: moment.hash_seed != passing and moment.hash_seed % 2 == 1)


def fails_after(*polluters: NodeId, cleaners: Sequence[NodeId] = (), rate: float = 1.0) -> Behaviour:
    """A victim: any one of the polluters suffices, a cleaner after it undoes it."""
    return fails_if(lambda m: moment_polluted(m, [[p] for p in polluters], cleaners) and m.draw < rate)


def fails_after_all(*polluters: NodeId, cleaners: Sequence[NodeId] = ()) -> Behaviour:
    """A victim that needs all of the polluters, in any order."""
    return fails_if(lambda m: moment_polluted(m, [list(polluters)], cleaners))


def moment_polluted(moment: Moment, sets: Sequence[Sequence[NodeId]], cleaners: Sequence[NodeId]) -> bool:
    """Whether all members of one of the sets ran since the last cleaner."""
    since = max((place + 1 for place, test in enumerate(moment.earlier) if test in cleaners), default=0)
    recent = set(moment.earlier[since:])
    return any(recent.issuperset(polluters) for polluters in sets)


def passes_only_after(*setters: NodeId) -> Behaviour:
    """A brittle test: any one of the setters suffices."""
    return fails_if(lambda moment: not set(setters) & set(moment.earlier))


def passes_only_after_all(*setters: NodeId) -> Behaviour:
    """A brittle test that needs all of the setters."""
    return fails_if(lambda moment: not set(setters) <= set(moment.earlier))


def fails_when_repeated(moment: Moment) -> Outcome:
    """A non-idempotent test."""
    return Outcome.FAILED if moment.test in moment.earlier else Outcome.PASSED


def fails_in_slow_periods(seed: int, mean_s: float) -> Behaviour:
    """Fails during slow periods of the machine, no matter which tests ran before, and passes between them."""
    rng = random.Random(seed)
    ends, slow = [1000.0], [False]

    def is_slow(moment: Moment) -> bool:
        while ends[-1] <= moment.now_s:
            ends.append(ends[-1] + rng.expovariate(1 / mean_s))
            slow.append(not slow[-1])
        return slow[bisect_right(ends, moment.now_s)]

    return fails_if(is_slow)
