"""What the time that is left is expected to buy."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.index import BetaPrior, Known, chance_of_flaky
from flakehound.core.statistics.prevalence import RATES, Way
from flakehound.hunt import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSort:
    """One sort of run: each of these tests once."""

    tests: Sequence[NodeId]
    ways: tuple[Way, ...]  # that it can show
    cost_s: float
    most: int  # runs that may still be made


@dataclass(slots=True)
class Forecast:
    """Spends time on paper, always as if every run passed."""

    known: Callable[[NodeId, Way], Known]
    _more: Counter[tuple[NodeId, Way]] = field(default_factory=Counter)  # runs made on paper

    def worth_of(self, seconds: float, sorts: Sequence[RunSort]) -> float:
        """Flaky tests that this time is expected to show."""
        bought, left = 0.0, [sort.most for sort in sorts]
        step_s = seconds / limits.FORECAST_STEPS
        for _step in range(limits.FORECAST_STEPS):
            best, most_per_s = None, 0.0
            for number, sort in enumerate(sorts):
                runs = min(left[number], max(1, int(step_s / sort.cost_s))) if sort.tests else 0
                if runs < 1 or sort.cost_s > seconds:
                    continue
                gain = self._gain(sort, runs)
                if gain / (runs * sort.cost_s) > most_per_s:
                    best, most_per_s = (number, runs), gain / (runs * sort.cost_s)
            if best is None:
                break
            number, runs = best
            bought += most_per_s * min(step_s, runs * sorts[number].cost_s)
            left[number] -= runs
            for test in sorts[number].tests:
                self._more.update({(test, way): runs for way in sorts[number].ways})
        return bought

    def _gain(self, sort: RunSort, times: int) -> float:
        return sum(self._shown(test, way, times) for test in sort.tests for way in sort.ways)

    def _shown(self, test: NodeId, way: Way, times: int) -> float:
        known, rates = self.known(test, way), RATES[way]
        more = self._more[test, way]
        return chance_of_flaky(known, rates) * (
            _passing(rates, known.passed, more) - _passing(rates, known.passed, more + times)
        )


def _passing(rates: BetaPrior, passed: int, more: int) -> float:
    """How likely a flaky test that passed so often passes so many times more."""
    return rates.chance_of_passes(passed + more) / rates.chance_of_passes(passed)
