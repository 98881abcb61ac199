"""How many flaky tests more time is expected to show in one suite, given its history."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.index import chance_of_flaky
from flakehound.core.statistics.prevalence import RATES, FlakyWay
from flakehound.core.statistics.rates import highest_unseen_rate
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.search.expected_gain import (
    WAYS_ALONE,
    WAYS_IN_ORIGINAL_ORDER,
    WAYS_IN_OTHER_ORDER,
    WAYS_TOGETHER,
    ExpectedGain,
)
from flakehound.hunt.search.forecast import Forecast, RepeatableRun
from flakehound.hunt.search.selected import max_original_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteForecast:
    """The forecast for one suite, from the runs made so far."""

    history: History
    options: SearchOptions
    gain: ExpectedGain
    has_orders: bool  # other orders are still to be run
    has_pairs: bool  # pairs are still to be run

    def detections_in(self, seconds: float) -> float:
        """Detections expected in this time; a large suite is represented by a random sample of its tests."""
        tests = self.gain.tests
        sample = tests
        if len(tests) > limits.MAX_FORECAST_TESTS:
            sample = random.Random(self.options.seed).sample(tests, limits.MAX_FORECAST_TESTS)
        if not sample:
            return 0.0  # every test has failed already
        failed, tests_per_sampled = len(self.history.suite.tests) - len(tests), len(tests) / len(sample)
        runs = list(self._possible_runs(sample, seconds / tests_per_sampled))
        forecast = Forecast(passing_test=self.gain.passing_test)
        detections = forecast.detections_in(seconds / tests_per_sampled * self.options.jobs, runs)
        detections = tests_per_sampled * (detections + self._detections_by_pairs(sample, seconds))
        still_expected = tests_per_sampled * self.gain.expected_flaky(sample)
        return self.gain.suite_factor(failed, still_expected) * detections

    def rules_out_rare_failures(self) -> bool:
        """Whether every test has passed often enough to rule out that it fails in one of a hundred runs.

        By the rates of other suites few tests are flaky, but a user who hunts in a small suite may have a reason.
        """
        runs = (self.history.tally(test).n for test in self.gain.tests)
        return all(highest_unseen_rate(n) <= limits.MAX_UNSEEN_FAILURE_RATE for n in runs if n)

    def _detections_by_pairs(self, tests: list[NodeId], seconds: float) -> float:
        """Victims that pairs are expected to show; 0 if there are other orders, which show them sooner."""
        if not self.has_pairs or self.has_orders:
            return 0.0
        order, rates = self.history.suite.order, RATES[FlakyWay.ORDER]
        all_pairs_s = len(order) * sum(self._alone_s(test) for test in order)
        unseen_victims = sum(
            chance_of_flaky(self.gain.passing_test(test, FlakyWay.ORDER), rates) for test in tests
        )
        return unseen_victims * min(1.0, seconds * self.options.jobs / all_pairs_s)

    def _possible_runs(self, tests: list[NodeId], seconds: float) -> Iterator[RepeatableRun]:
        """The runs to choose from: the whole suite in some order, or all or the best tests alone or together."""
        has_reruns, unlimited = "rerun" in self.options.techniques, limits.UNLIMITED_RUNS
        start_s = self.history.costs.start_s(self.options.isolation)
        suite_s = start_s + self.history.costs.tests_s(tests)
        if has_reruns:
            max_runs = max_original_runs(self.options)
            yield RepeatableRun(tests=tests, ways=WAYS_IN_ORIGINAL_ORDER, cost_s=suite_s, max_runs=max_runs)
        if self.has_orders:
            max_runs = unlimited if self.options.endless else limits.MAX_PLAIN_SHUFFLES
            yield RepeatableRun(tests=tests, ways=WAYS_IN_OTHER_ORDER, cost_s=suite_s, max_runs=max_runs)
        by_index = sorted(tests, key=lambda test: -self.gain.of_test(test, WAYS_ALONE) / self._alone_s(test))
        for share in (1.0, *limits.FORECAST_BEST_SHARES):
            chosen = [test for test in by_index[: ceil(share * len(tests))] if self._alone_s(test) < seconds]
            cost_s = sum(self._alone_s(test) for test in chosen)
            yield RepeatableRun(tests=chosen, ways=WAYS_ALONE, cost_s=cost_s, max_runs=unlimited)
            together_s = cost_s - start_s * (len(chosen) - ceil(len(chosen) / limits.MAX_BATCH_SIZE))
            if has_reruns:
                yield RepeatableRun(tests=chosen, ways=WAYS_TOGETHER, cost_s=together_s, max_runs=unlimited)

    def _alone_s(self, test: NodeId) -> float:
        return self.history.costs.run_s((test,), self.options.isolation)
