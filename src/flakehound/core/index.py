"""Which test to run next: the one with the most expected detections per second.

A test is flaky with some prior probability; a flaky test's failure rate follows a Beta distribution. As long as
only one outcome was seen, the next run shows the other one with a chance that falls with every run. Standard
library only: a hunt without any extra plans with it.
"""

from __future__ import annotations

import heapq
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma
from typing import Generic, TypeVar

Test = TypeVar("Test", bound=Hashable)


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaPrior:
    """How the failure rates of flaky tests are spread: Beta(a, b)."""

    a: float
    b: float

    def chance_of_passes(self, passed: int) -> float:
        """How likely a flaky test passes so many times in a row."""
        return _chance_of_passes(self.a, self.b, passed)

    def chance_of_failures(self, failed: int) -> float:
        """How likely a flaky test fails so many times in a row."""
        return exp(_log_beta(self.a + failed, self.b) - _log_beta(self.a, self.b))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@lru_cache(maxsize=1 << 16)
def _chance_of_passes(a: float, b: float, passed: int) -> float:
    # Asked for every test of a suite after every run of it.
    return exp(_log_beta(a, b + passed) - _log_beta(a, b))


# Beta-binomial by maximum likelihood to the 720 NOD tests of `python_flaky` (original order, all projects alike);
# `learn/prior.py` fits it, and says what it leaves out.
PYTHON_NOD = BetaPrior(a=0.3046, b=1.0258)
# Of tests whose every run failed, so many are simply broken. A guess: no source says it.
BROKEN = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Known:
    """What is known of one test's reruns."""

    prior: float  # probability of being flaky before any run
    cost_s: float  # of one more run, with the fork
    passed: int = 0
    failed: int = 0

    @property
    def is_settled(self) -> bool:
        """Whether both outcomes were seen: nothing is left to find."""
        return bool(self.passed and self.failed)


def chance_of_flaky(known: Known, rates: BetaPrior = PYTHON_NOD) -> float:
    """P(flaky | what was seen); 1 once both outcomes were."""
    if known.is_settled:
        return 1.0
    if known.failed:
        seen = (1 - BROKEN) * rates.chance_of_failures(known.failed)
        return seen / (seen + BROKEN)
    seen = known.prior * rates.chance_of_passes(known.passed)
    return seen / (seen + 1 - known.prior) if seen else 0.0


def chance_of_detection(known: Known, rates: BetaPrior = PYTHON_NOD) -> float:
    """How likely the very next run shows the outcome that was not seen yet."""
    if known.is_settled:
        return 0.0
    runs = known.passed + known.failed
    missing = rates.b if known.failed else rates.a  # of a pass, or of a failure
    return chance_of_flaky(known, rates) * missing / (rates.a + rates.b + runs)


def chances_after(passed: int, rates: BetaPrior) -> tuple[float, float]:
    """How likely a flaky test passes so many times in a row, and how likely it fails the next time."""
    return rates.chance_of_passes(passed), rates.a / (rates.a + rates.b + passed)


def index_of(known: Known, rates: BetaPrior = PYTHON_NOD) -> float:
    """Expected detections per second of the next run."""
    return chance_of_detection(known, rates) / max(known.cost_s, 1e-9)


def expected_detections(known: Known, runs: int, rates: BetaPrior = PYTHON_NOD) -> float:
    """How many flaky tests (at most one) so many more runs of a test that only passed are expected to show."""
    if known.is_settled or known.failed:
        return 0.0
    before, after = (rates.chance_of_passes(known.passed + more) for more in (0, runs))
    return chance_of_flaky(known, rates) * (1 - after / before) if before else 0.0


class IndexQueue(Generic[Test]):
    """Tests by their index, the largest first; equal ones in the order they came."""

    def __init__(self, tests: Mapping[Test, Known], rates: BetaPrior = PYTHON_NOD) -> None:
        self._rates = rates
        self._known = dict(tests)
        self._turn = 0
        self._heap: list[tuple[float, int, Test]] = []
        for test in self._known:
            self._push(test)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def best(self) -> float:
        """The largest index; 0 where nothing is left to find."""
        return -self._heap[0][0] if self._heap else 0.0

    def pop(self) -> Test:
        """The test to run next; it comes back with `seen`, or never. Parallel slots take one each."""
        return heapq.heappop(self._heap)[2]

    def seen(self, test: Test, *, failed: bool, cost_s: float | None = None) -> Known:
        """Take in one more run of a test, and what it cost where that was measured."""
        was = self._known[test]
        self._known[test] = Known(
            prior=was.prior,
            cost_s=was.cost_s if cost_s is None else cost_s,
            passed=was.passed + (not failed),
            failed=was.failed + failed,
        )
        if not self._known[test].is_settled:
            self._push(test)
        return self._known[test]

    def _push(self, test: Test) -> None:
        index = index_of(self._known[test], self._rates)
        if index > 0:
            self._turn += 1
            heapq.heappush(self._heap, (-index, self._turn, test))


def planned(tests: Mapping[Test, Known], budget_s: float, rates: BetaPrior = PYTHON_NOD) -> Iterator[Test]:
    """The runs a budget buys if every one of them passes."""
    queue = IndexQueue(tests, rates)
    left_s = budget_s
    while queue:
        test = queue.pop()
        if tests[test].cost_s > left_s:
            continue  # a cheaper one may still fit
        left_s -= tests[test].cost_s
        yield test
        queue.seen(test, failed=False)


def worth_of(tests: Mapping[Test, Known], budget_s: float, rates: BetaPrior = PYTHON_NOD) -> float:
    """How many flaky tests a budget is expected to show, when it is spent by the index."""
    runs: dict[Test, int] = {}
    for test in planned(tests, budget_s, rates):
        runs[test] = runs.get(test, 0) + 1
    return sum(expected_detections(tests[test], times, rates) for test, times in runs.items())
