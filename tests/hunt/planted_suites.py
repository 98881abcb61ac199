"""Random fake suites with known flaky tests, of many sizes, speeds and kinds of flakiness.

Everything about a suite follows from its number, so that two versions of the planner can be compared on the same
suites.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from math import exp, log

from simulator import (
    Behaviour,
    Simulator,
    always,
    fails_after,
    fails_after_all,
    fails_by_chance,
    fails_by_hash_seed,
    fails_by_seed,
    fails_if,
    fails_in_slow_periods,
    fails_when_repeated,
    passes_only_after,
    passes_only_after_all,
    suite_of,
)

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Suite
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.core.verdicts import Kind


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedTest:
    """A flaky test, and what a hunt may say about it."""

    name: str  # of its kind of flakiness
    right: Kind | None  # None: nothing is proven about it, at best that it fails under load
    behaviour: Behaviour
    decisive: frozenset[NodeId] = frozenset()  # polluters or state-setters, each or together
    also_true: frozenset[Kind] = frozenset()  # says less, but nothing wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantedSuite:
    """A fake suite, its flaky tests, and what its processes cost."""

    number: int
    suite: Suite
    planted: dict[NodeId, PlantedTest]
    test_s: dict[NodeId, float]
    fork_s: float
    interpreter_s: float
    jobs: int
    policy: str
    suite_times: int  # of the budget
    state_traces: dict[NodeId, StateTrace]  # what each test leaves and mentions
    failed_earlier: tuple[NodeId, ...]  # in the user's own runs, most of them for a reason that is gone

    @property
    def suite_s(self) -> float:
        """What plain pytest takes."""
        return self.interpreter_s + sum(self.test_s.values())

    @property
    def budget_s(self) -> float:
        """Wall-clock time of a hunt."""
        return self.suite_times * self.suite_s

    def simulator(self) -> Simulator:
        """The suite, ready to run."""
        return Simulator(
            self.suite,
            {test: planted.behaviour for test, planted in self.planted.items()},
            seed=self.number,
            test_s=self.test_s,
            fork_s=self.fork_s,
            interpreter_s=self.interpreter_s,
            time_noise=0.2,
            state_traces=self.state_traces,
        )


def planted_suite(number: int) -> PlantedSuite:
    """The suite with this number: 20 to 400 tests, up to eight of them flaky."""
    rng = random.Random(f"suite {number}")
    suite = _suite(rng, size=round(_between(rng, 20, 400)))
    planted = _planted_tests(rng, suite.order)
    return PlantedSuite(
        number=number,
        suite=suite,
        planted=planted,
        test_s=_durations(rng, suite.order),
        fork_s=_between(rng, 0.004, 0.016),
        interpreter_s=_between(rng, 0.3, 2.0),
        jobs=rng.choice([1, 2, 2, 4]),
        policy=rng.choice(["index", "index", "rerun"]),
        suite_times=rng.choice([5, 10, 10, 30]),
        state_traces=_state_traces(rng, suite.order, planted),
        failed_earlier=_failed_earlier(rng, suite.order, planted),
    )


def _between(rng: random.Random, low: float, high: float) -> float:
    """Any order of magnitude as likely as the others."""
    return exp(rng.uniform(log(low), log(high)))


def _suite(rng: random.Random, size: int) -> Suite:
    files = max(1, round(size / rng.uniform(5, 25)))
    classes = rng.choice([0, 0, 2])  # of each file; 0: functions only
    names = []
    for number in range(size):
        file = number * files // size
        group = f"C{number % (size // files + 1) * classes // (size // files + 1)}::" if classes else ""
        names.append(f"f{file}.py::{group}t{number}")
    return suite_of(*names)


def _durations(rng: random.Random, tests: tuple[NodeId, ...]) -> dict[NodeId, float]:
    """Most tests take about the same time, a few far longer."""
    median_s, slow_share, slow_s = rng.choice([(0.001, 0.01, 0.1), (0.003, 0.03, 0.5), (0.02, 0.03, 3.0)])
    return {
        test: slow_s * rng.uniform(0.5, 1.5)
        if rng.random() < slow_share
        else median_s * rng.lognormvariate(0.0, 1.0)
        for test in tests
    }


def _planted_tests(rng: random.Random, tests: tuple[NodeId, ...]) -> dict[NodeId, PlantedTest]:
    flaky = rng.sample(tests, rng.randint(2, 8))
    others = [test for test in tests if test not in flaky]
    return {test: rng.choice(_KINDS)(rng, others) for test in flaky}


def _state_traces(
    rng: random.Random, tests: tuple[NodeId, ...], planted: dict[NodeId, PlantedTest]
) -> dict[NodeId, StateTrace]:
    """What decides about a test is a global that it mentions; some harmless tests change it as well."""
    left: dict[NodeId, list[StateChange]] = {test: [] for test in tests}
    for number, depends in enumerate(planted.values()):
        for test in {*depends.decisive, *rng.sample(tests, rng.choice([0, 0, 2, 6]))}:
            left[test].append(StateChange(kind="module global", name=f"module.g{number}"))
    mentions = {test: frozenset([f"g{number}"]) for number, test in enumerate(planted)}
    return {test: StateTrace(left=tuple(left[test]), mentions=mentions.get(test, frozenset())) for test in tests}


def _failed_earlier(
    rng: random.Random, tests: tuple[NodeId, ...], planted: dict[NodeId, PlantedTest]
) -> tuple[NodeId, ...]:
    """Half of the flaky tests, and others that an outage made fail."""
    flaky = rng.sample(sorted(planted), len(planted) // 2)
    failed = [*flaky, *rng.sample(tests, min(len(tests), rng.choice([0, 10, 40, 120])))]
    rng.shuffle(failed)
    return tuple(dict.fromkeys(failed))


def _victim(rng: random.Random, others: list[NodeId]) -> PlantedTest:
    polluters = rng.sample(others, rng.choice([1, 1, 1, 2, 4]))
    cleaners = rng.sample([o for o in others if o not in polluters], rng.choice([0, 0, 1, 3]))
    behaviour = fails_after(*polluters, cleaners=cleaners)
    return PlantedTest(name="victim", right=Kind.VICTIM, behaviour=behaviour, decisive=frozenset(polluters))


def _victim_now_and_then(rng: random.Random, others: list[NodeId]) -> PlantedTest:
    polluter = rng.choice(others)
    return PlantedTest(
        name="victim now and then",
        right=Kind.VICTIM,
        behaviour=fails_after(polluter, rate=rng.uniform(0.3, 0.9)),
        decisive=frozenset([polluter]),
        also_true=frozenset([Kind.NOD]),
    )


def _victim_of_two(rng: random.Random, others: list[NodeId]) -> PlantedTest:
    polluters = rng.sample(others, 2)
    behaviour = fails_after_all(*polluters)
    return PlantedTest(
        name="victim of two together", right=Kind.VICTIM, behaviour=behaviour, decisive=frozenset(polluters)
    )


def _brittle(rng: random.Random, others: list[NodeId]) -> PlantedTest:
    setters = rng.sample(others, rng.choice([1, 1, 2, 5]))
    return PlantedTest(
        name="brittle", right=Kind.BRITTLE, behaviour=passes_only_after(*setters), decisive=frozenset(setters)
    )


def _brittle_after_two(rng: random.Random, others: list[NodeId]) -> PlantedTest:
    setters = rng.sample(others, 2)
    return PlantedTest(
        name="brittle after two",
        right=Kind.BRITTLE,
        behaviour=passes_only_after_all(*setters),
        decisive=frozenset(setters),
        also_true=frozenset([Kind.FAILING]),
    )


def _non_idempotent(_rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    return PlantedTest(name="non-idempotent", right=Kind.NON_IDEMPOTENT, behaviour=fails_when_repeated)


def _nod(rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    return PlantedTest(name="NOD", right=Kind.NOD, behaviour=fails_by_chance(_between(rng, 0.02, 0.5)))


def _nod_by_seed(rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    return PlantedTest(name="NOD by seed", right=Kind.NOD, behaviour=fails_by_seed(_between(rng, 0.05, 0.5)))


def _nod_by_hash_seed(_rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    return PlantedTest(name="NOD by hash seed", right=Kind.NOD, behaviour=fails_by_hash_seed())


def _nod_in_slow_periods(rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    behaviour = fails_in_slow_periods(rng.randrange(1000), _between(rng, 0.5, 5.0))
    return PlantedTest(name="NOD in slow periods", right=Kind.NOD, behaviour=behaviour)


def _under_load(rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    rate = rng.uniform(0.2, 1.0)
    behaviour = fails_if(lambda moment: moment.disturbed and moment.draw < rate)
    return PlantedTest(name="under load", right=None, behaviour=behaviour)


def _failing(_rng: random.Random, _others: list[NodeId]) -> PlantedTest:
    return PlantedTest(name="failing", right=Kind.FAILING, behaviour=always(Outcome.FAILED))


_KINDS: list[Callable[[random.Random, list[NodeId]], PlantedTest]] = [
    *[_victim] * 4,
    _victim_now_and_then,
    _victim_of_two,
    *[_brittle] * 3,
    _brittle_after_two,
    *[_non_idempotent] * 2,
    *[_nod] * 4,
    _nod_by_seed,
    _nod_by_hash_seed,
    _nod_in_slow_periods,
    _under_load,
    _failing,
]
