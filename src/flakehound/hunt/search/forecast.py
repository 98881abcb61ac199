"""How many flaky tests a number of seconds is expected to show, if they are spent on the best runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.index import BetaPrior, PassingTest, chance_of_flaky
from flakehound.core.statistics.prevalence import RATES, FlakyWay
from flakehound.hunt import limits


@dataclass(frozen=True, slots=True, kw_only=True)
class RepeatableRun:
    """A run of these tests, each once, that can be made several times."""

    tests: Sequence[NodeId]
    ways: tuple[FlakyWay, ...]  # that it can show
    cost_s: float
    max_runs: int  # that may still be made


@dataclass(slots=True)
class Forecast:
    """Distributes time over runs without making them, as if every run passed."""

    passing_test: Callable[[NodeId, FlakyWay], PassingTest]
    _planned: Counter[tuple[NodeId, FlakyWay]] = field(default_factory=Counter)

    def detections_in(self, seconds: float, runs: Sequence[RepeatableRun]) -> float:
        """Flaky tests that these runs are expected to show in this time."""
        detections, runs_left = 0.0, [run.max_runs for run in runs]
        step_s = seconds / limits.FORECAST_STEPS
        for _step in range(limits.FORECAST_STEPS):
            best, most_per_s = None, 0.0
            for number, run in enumerate(runs):
                times = min(runs_left[number], max(1, int(step_s / run.cost_s))) if run.tests else 0
                if times < 1 or run.cost_s > seconds:
                    continue
                gain = self._gain(run, times)
                if gain / (times * run.cost_s) > most_per_s:
                    best, most_per_s = (number, times), gain / (times * run.cost_s)
            if best is None:
                break
            number, times = best
            detections += most_per_s * min(step_s, times * runs[number].cost_s)
            runs_left[number] -= times
            for test in runs[number].tests:
                self._planned.update({(test, way): times for way in runs[number].ways})
        return detections

    def _gain(self, run: RepeatableRun, times: int) -> float:
        return sum(self._expected_detection(test, way, times) for test in run.tests for way in run.ways)

    def _expected_detection(self, test: NodeId, way: FlakyWay, times: int) -> float:
        history, rates = self.passing_test(test, way), RATES[way]
        planned = self._planned[test, way]
        return chance_of_flaky(history, rates) * (
            _chance_of_passing_again(rates, history.passed, planned)
            - _chance_of_passing_again(rates, history.passed, planned + times)
        )


def _chance_of_passing_again(rates: BetaPrior, passed: int, more: int) -> float:
    """The probability that a flaky test that `passed` so many times passes `more` times in a row."""
    return rates.chance_of_passes(passed + more) / rates.chance_of_passes(passed)
