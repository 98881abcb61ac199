"""A fake suite that runs plans without processes, so that a whole hunt takes milliseconds.

What a fake test does is a pure function of a `Moment`. The simulator turns plans into run records the way the
engine does: branches share their trunk, a crash ends its process, a new interpreter starts over and takes long to
start.
"""

from __future__ import annotations

import random
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from simulated_loop import SESSION_HASH_SEED, SimulatedLoop

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
from flakehound.core.records import RunRecord, Usage
from flakehound.core.state_changes import StateTrace
from flakehound.core.verdicts import Verdict
from flakehound.hunt.agenda import Agenda
from flakehound.hunt.diagnosis.verdicts import judge
from flakehound.hunt.options import SearchOptions

FORK_S = 0.01
INTERPRETER_S = 0.5  # to start one and collect: plain pytest with a small suite
COMPARED_S = 0.025  # to compare the state of a process (benchmarks/RESULTS.md, state changes)
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
class _Process:
    """What one simulated process did: as many outcomes and seconds as tests ran in it."""

    outcomes: list[Outcome] = field(default_factory=list)
    durations_s: list[float] = field(default_factory=list)
    wall_s: float = 0.0

    @property
    def ended_by_test(self) -> bool:
        return bool(self.outcomes) and self.outcomes[-1] in (Outcome.CRASHED, Outcome.TIMED_OUT)

    def after(self, trunk: _Process, low: int, high: int) -> _Process:
        """This process behind the part of its trunk that no other copy counts."""
        return _Process(
            outcomes=[Outcome.NOT_RUN] * low + trunk.outcomes[low:high] + self.outcomes,
            durations_s=[0.0] * low + trunk.durations_s[low:high] + self.durations_s,
            wall_s=self.wall_s,
        )


@dataclass(slots=True)
class Simulator:
    """One fake suite and its clock; a test without a behaviour passes."""

    suite: Suite
    behaviours: Mapping[NodeId, Behaviour] = field(default_factory=dict)
    seed: int = 0
    test_s: Mapping[NodeId, float] = field(default_factory=dict)
    fork_s: float = FORK_S
    interpreter_s: float = INTERPRETER_S
    time_noise: float = 0.0  # share by which a test may take more or less time than usual
    state_traces: Mapping[NodeId, StateTrace] = field(default_factory=dict)  # for runs that compare states
    clock_s: float = 1000.0
    started: list[tuple[RunPlan, bool]] = field(default_factory=list)  # each plan, and whether it was disturbed
    _rng: random.Random = field(default_factory=random.Random)
    _noise: random.Random = field(default_factory=random.Random)
    _draws: dict[NodeId, random.Random] = field(default_factory=dict)  # by test
    _began_s: float = 1000.0

    def __post_init__(self) -> None:
        self._rng = random.Random(self.seed)
        self._noise = random.Random(f"{self.seed}:noise")

    def run(self, plan: RunPlan, *, disturbed: bool = False) -> list[RunRecord]:
        """The records that the engine would return for this plan."""
        self.started.append((plan, disturbed))
        if plan.isolation is Isolation.SPAWN:
            return [
                self._record(plan, order, self._process(plan, order, (), disturbed), disturbed)
                for order in plan.orders
            ]
        if isinstance(plan, SingleRun):
            process = self._process(plan, plan.order, (), disturbed)
            return [self._record(plan, plan.order, process, disturbed)]
        return self._run_copies(plan, disturbed)

    def _run_copies(self, plan: CopyingPlan, disturbed: bool) -> list[RunRecord]:
        trunk = self._process(plan, plan.trunk, (), disturbed, is_copied=True) if plan.trunk else _Process()
        until = plan.until if isinstance(plan, Walk) else None
        records, counted = [], 0
        for copy, order in zip(plan.copies, plan.orders, strict=True):
            if len(trunk.outcomes) < copy.after or (trunk.ended_by_test and len(trunk.outcomes) == copy.after):
                break
            seeded = replace(plan, seed=copy.seed)
            process = self._process(seeded, copy.tests, plan.trunk[: copy.after], disturbed)
            records.append(self._record(seeded, order, process.after(trunk, counted, copy.after), disturbed))
            counted = copy.after
            if until and process.outcomes and _effect_of(process.outcomes[-1]) == until:
                self.clock_s -= sum(trunk.durations_s[counted:])  # the walk ends here
                return records
        if plan.trunk and (not records or len(trunk.outcomes) > counted):
            rest = _Process(wall_s=trunk.wall_s).after(trunk, counted, len(plan.trunk))
            records.append(self._record(plan, plan.trunk, rest, disturbed))
        return records

    def outcome_of_last(self, order: Sequence[NodeId], *, seed: int = 0) -> Outcome:
        """The outcome of the last test of an order in one undisturbed new process."""
        plan = SingleRun(order=tuple(order), why="", setting=Setting.PROBE, seed=seed)
        return self.run(plan)[0].last

    def _process(
        self, plan: RunPlan, order: Order, before: Order, disturbed: bool, *, is_copied: bool = False
    ) -> _Process:
        seed = plan.seed if plan.seed is not None else self._rng.randrange(2**32)
        hash_seed = plan.hash_seed if plan.isolation is Isolation.SPAWN else None
        forked = plan.isolation is Isolation.FORK
        began_s = self.clock_s
        process = _Process()
        self.clock_s += self.fork_s if forked else self.interpreter_s
        self.clock_s += COMPARED_S if plan.compare_state else 0.0
        for place, test in enumerate(order):
            process.durations_s.append(self._test_s(test))
            self.clock_s += process.durations_s[-1]
            behaviour = self.behaviours.get(test)
            if behaviour is None:
                process.outcomes.append(Outcome.PASSED)
                continue
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
                draw=self._draw(test),
            )
            process.outcomes.append(behaviour(moment))
            if process.ended_by_test:
                break
        process.wall_s = self.clock_s - began_s
        return process

    def _draw(self, test: NodeId) -> float:
        """The next of a sequence of its own, so that a test has the same fate whatever ran before."""
        if test not in self._draws:
            self._draws[test] = random.Random(f"{self.seed}:{test}")
        return self._draws[test].random()

    def _test_s(self, test: NodeId) -> float:
        return self.test_s.get(test, TEST_S) * (1 + self.time_noise * self._noise.uniform(-1, 1))

    def _record(self, plan: RunPlan, order: Order, process: _Process, disturbed: bool) -> RunRecord:
        missing = len(order) - len(process.outcomes)
        return RunRecord(
            order=order,
            outcomes=(*process.outcomes, *[Outcome.NOT_RUN] * missing),
            durations_s=(*process.durations_s, *[0.0] * missing),
            setting=plan.setting,
            isolation=plan.isolation,
            why=plan.why,
            seed=plan.seed,
            hash_seed=SESSION_HASH_SEED if plan.hash_seed is None else plan.hash_seed,
            disturbed=disturbed,
            started_s=self.clock_s,
            usage=Usage(wall_s=process.wall_s),
            state_traces=self._state_traces_in(order) if plan.compare_state else {},
        )

    def _state_traces_in(self, order: Order) -> dict[int, StateTrace]:
        return {0: self.state_traces[order[0]]} if order[0] in self.state_traces else {}


def _effect_of(outcome: Outcome) -> str:
    return "fails" if outcome.is_failure else "passes" if outcome.is_pass else ""


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
    background_reference: bool = False,
    time_left_s: float = 1e6,
    reserved_s: float = 0.0,
    hunt_seed: int = 5,
    **options: object,
) -> SimulatedHunt:
    """Run the plans of an agenda as the engine's loop does, until it has none or the time is up.

    With `background_reference` the first run of the suite goes on beside the first plans, as in a long suite.
    Only follow-ups may use the reserved part of the time, which a real hunt keeps for causes.
    """
    search_options = SearchOptions(seed=hunt_seed, **options)  # type: ignore[arg-type]
    history = History(simulator.suite) if history is None else history
    if with_reference and not background_reference:
        for record in simulator.run(reference_plan(simulator.suite)):
            history.add(record)
    end_s = simulator.clock_s + time_left_s
    deadline_s = end_s - reserved_s

    def new_agenda(agenda_options: SearchOptions) -> Agenda:
        return Agenda(history, agenda_options, lambda: max(0.0, deadline_s - simulator.clock_s))

    agenda = new_agenda(replace(search_options, awaits_reference=background_reference))
    loop = SimulatedLoop(simulator, history, agenda, search_options.jobs, hunt_seed)
    if background_reference:
        # The engine extrapolates from the first tests of the run.
        known_s = [simulator.test_s.get(test, TEST_S) for test in simulator.suite.order]
        mean_s = sum(known_s) / len(known_s)
        history.times.expect(test_s=mean_s, new_interpreter_s=simulator.interpreter_s)
        loop.run_beside(reference_plan(simulator.suite), deadline_s)
        agenda = new_agenda(search_options)
        loop.go_on_with(agenda)
    settled = loop.run(max_plans, deadline_s)
    if reserved_s:
        deadline_s = end_s
        loop.run(max_plans, deadline_s, only_follow_ups=True)
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
