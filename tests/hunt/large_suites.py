"""Random fake suites of thousands of tests and minutes, with flaky tests planted far apart.

Everything about a suite follows from its number, so that two versions of the planner can be compared on the same
suites. `planted_suites.py` has the small ones.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from math import exp, log

from planted_suites import PlantedSuite, PlantedTest
from simulator import (
    fails_after,
    fails_after_all,
    fails_by_chance,
    fails_by_hash_seed,
    fails_when_repeated,
    passes_only_after,
    suite_of,
)

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Kind

NOD_RATES = (0.02, 0.05, 0.08, 0.1, 0.2, 0.3)


def large_suite(number: int, *, budget_s: float = 600.0) -> PlantedSuite:
    """The suite with this number: 3,000 to 8,000 tests, 60 to 300 seconds, 19 flaky tests."""
    rng = random.Random(f"large suite {number}")
    suite = suite_of(*_names(rng, rng.randint(3000, 8000)))
    test_s = _durations(rng, suite.order, rng.uniform(60.0, 300.0))
    planted = dict(_planted_tests(rng, suite.order))
    suite_s = sum(test_s.values())
    return PlantedSuite(
        number=number,
        suite=suite,
        planted=planted,
        test_s=test_s,
        fork_s=rng.uniform(0.012, 0.035),
        interpreter_s=rng.uniform(2.0, 8.0),
        jobs=2,
        policy="index",
        suite_times=max(1, round(budget_s / suite_s)),
        state_traces={},
        failed_earlier=(),
    )


def _names(rng: random.Random, size: int) -> Iterator[str]:
    """Files of very different sizes in a few packages; about half of the files have classes."""
    file = made = 0
    while made < size:
        tests = min(size - made, max(1, round(exp(rng.gauss(log(25.0), 1.2)))))
        classes = rng.choice([0, 0, 1, 3, 8])
        for number in range(tests):
            group = f"C{number * classes // tests}::" if classes else ""
            yield f"p{file * 7 // 300}/f{file}.py::{group}t{made + number}"
        made += tests
        file += 1


def _durations(rng: random.Random, tests: Sequence[NodeId], total_s: float) -> dict[NodeId, float]:
    """Lognormal with a long tail: the slowest twentieth takes more than half of the time, as in real suites."""
    raw = {test: min(300.0, rng.lognormvariate(0.0, 1.7)) for test in tests}
    factor = total_s / sum(raw.values())
    return {test: value * factor for test, value in raw.items()}


def _planted_tests(rng: random.Random, tests: Sequence[NodeId]) -> Iterator[tuple[NodeId, PlantedTest]]:
    places = rng.sample(range(len(tests)), 60)
    free = iter([tests[place] for place in places])
    for number in range(8):
        yield _victim(rng, tests, free, number)
    for _number in range(2):
        setter, test = _in_order(tests, next(free), next(free))
        behaviour = passes_only_after(setter)
        yield (
            test,
            PlantedTest(name="brittle", right=Kind.BRITTLE, behaviour=behaviour, decisive=frozenset([setter])),
        )
    for _number in range(2):
        yield (
            next(free),
            PlantedTest(name="non-idempotent", right=Kind.NON_IDEMPOTENT, behaviour=fails_when_repeated),
        )
    for rate in NOD_RATES:
        yield next(free), PlantedTest(name=f"NOD {rate:.0%}", right=Kind.NOD, behaviour=fails_by_chance(rate))
    yield next(free), PlantedTest(name="NOD by hash seed", right=Kind.NOD, behaviour=fails_by_hash_seed())


def _in_order(tests: Sequence[NodeId], first: NodeId, second: NodeId) -> tuple[NodeId, NodeId]:
    place = {test: number for number, test in enumerate(tests)}
    return (first, second) if place[first] < place[second] else (second, first)


def _victim(
    rng: random.Random, tests: Sequence[NodeId], free: Iterator[NodeId], number: int
) -> tuple[NodeId, PlantedTest]:
    """Most victims run before their polluter in the original order; one needs two polluters together."""
    first, second = _in_order(tests, next(free), next(free))
    test, polluter = (second, first) if number == 0 else (first, second)
    if number == 1:
        other = next(free)
        behaviour = fails_after_all(polluter, other)
        decisive = frozenset([polluter, other])
        return test, PlantedTest(name="joint victim", right=Kind.VICTIM, behaviour=behaviour, decisive=decisive)
    polluters = [polluter, *(next(free) for _ in range(number in (2, 3)))]
    cleaners = [next(free) for _ in range(rng.choice([0, 0, 1, 3]))]
    behaviour = fails_after(*polluters, cleaners=cleaners)
    name = "victim with cleaners" if cleaners else "victim"
    return (
        test,
        PlantedTest(name=name, right=Kind.VICTIM, behaviour=behaviour, decisive=frozenset(polluters)),
    )
