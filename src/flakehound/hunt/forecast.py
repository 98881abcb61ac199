"""What the time that is left is expected to buy."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flakehound.core.index import BetaPrior, Known, chance_of_flaky
from flakehound.core.outcomes import NodeId
from flakehound.core.prevalence import RATES, Way

STEPS = 16  # the time is spent in so many parts, each where it buys most
MOST_ASKED = 400  # tests; of a larger suite a part stands for all


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSort:
    """One sort of run of the whole suite."""

    ways: tuple[Way, ...]
    cost_s: float
    most: int  # runs that may still be made


@dataclass(slots=True)
class Forecast:
    """Spends time on paper, always as if every run passed."""

    tests: Sequence[NodeId]
    known: Callable[[NodeId, Way], Known]
    seed: int = 0
    _more: dict[tuple[NodeId, Way], int] = field(default_factory=dict)  # runs planned on paper

    def worth_of(self, seconds: float, sorts: Sequence[RunSort]) -> float:
        """Flaky tests that this time is expected to show."""
        tests = self._asked()
        left, bought = {sort: sort.most for sort in sorts}, 0.0
        for _step in range(STEPS):
            part_s = seconds / STEPS
            runs = {
                sort: min(left[sort], max(1, int(part_s / sort.cost_s)))
                for sort in sorts
                if left[sort] > 0 and sort.cost_s <= seconds
            }
            if not runs:
                break
            gains = {sort: self._gain(tests, sort, times) for sort, times in runs.items()}
            best = max(gains, key=lambda sort: gains[sort] / (runs[sort] * sort.cost_s))
            bought += gains[best] * min(1.0, part_s / (runs[best] * best.cost_s))
            left[best] -= runs[best]
            for test in tests:
                for way in best.ways:
                    self._more[test, way] = self._more.get((test, way), 0) + runs[best]
        return bought * len(self.tests) / max(1, len(tests))

    def _asked(self) -> list[NodeId]:
        if len(self.tests) <= MOST_ASKED:
            return list(self.tests)
        return random.Random(self.seed).sample(list(self.tests), MOST_ASKED)

    def _gain(self, tests: Sequence[NodeId], sort: RunSort, times: int) -> float:
        return sum(self._shown(test, way, times) for test in tests for way in sort.ways)

    def _shown(self, test: NodeId, way: Way, times: int) -> float:
        known, rates = self.known(test, way), RATES[way]
        more = self._more.get((test, way), 0)
        return chance_of_flaky(known, rates) * (
            _passing(rates, known.passed, more) - _passing(rates, known.passed, more + times)
        )


def _passing(rates: BetaPrior, passed: int, more: int) -> float:
    """How likely a flaky test that passed so often passes so many times more."""
    return rates.chance_of_passes(passed + more) / rates.chance_of_passes(passed)
