"""What more time is expected to show in the suite at hand, in tests proven flaky."""

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
from flakehound.hunt.search.expected_gain import ALONE, ORIGINAL, OTHER_ORDER, TOGETHER, ExpectedGain
from flakehound.hunt.search.forecast import Forecast, RepeatableRun
from flakehound.hunt.search.selected import max_original_runs


@dataclass(frozen=True, slots=True, kw_only=True)
class Outlook:
    """The forecast for one suite, as of now."""

    history: History
    options: SearchOptions
    gain: ExpectedGain
    has_orders: bool  # other orders are still to be run
    has_pairs: bool  # pairs are still to be run

    def detections_in(self, seconds: float) -> float:
        """Detections that this time is expected to bring; of a large suite a sample stands for all tests."""
        tests = self.gain.tests
        sample = tests
        if len(tests) > limits.MAX_FORECAST_TESTS:
            sample = random.Random(self.options.seed).sample(tests, limits.MAX_FORECAST_TESTS)
        if not sample:
            return 0.0  # every one has failed, and is followed up
        found, times = len(self.history.suite.tests) - len(tests), len(tests) / len(sample)
        runs = list(self._possible_runs(sample, seconds / times))
        forecast = Forecast(passing_test=self.gain.passing_test)
        detections = forecast.detections_in(seconds / times * self.options.jobs, runs)
        detections = times * (detections + self._detections_by_pairs(sample, seconds))
        return self.gain.suite_factor(found, times * self.gain.expected_flaky(sample)) * detections

    def rules_out_rare_failures(self) -> bool:
        """Whether every test that ever passed did so often enough to rule out that it fails one time in a hundred.

        Rates of other suites call few tests flaky. Whoever hunts in a small suite has a reason to.
        """
        runs = (self.history.tally(test).n for test in self.gain.tests)
        return all(highest_unseen_rate(n) <= limits.MAX_UNSEEN_FAILURE_RATE for n in runs if n)

    def _detections_by_pairs(self, tests: list[NodeId], seconds: float) -> float:
        """Victims among these that pairs would show in that time; where other orders show them sooner, none."""
        if not self.has_pairs or self.has_orders:
            return 0.0
        order, rates = self.history.suite.order, RATES[FlakyWay.ORDER]
        all_pairs_s = len(order) * sum(self._alone_s(test) for test in order)
        hidden = sum(chance_of_flaky(self.gain.passing_test(test, FlakyWay.ORDER), rates) for test in tests)
        return hidden * min(1.0, seconds * self.options.jobs / all_pairs_s)

    def _possible_runs(self, tests: list[NodeId], seconds: float) -> Iterator[RepeatableRun]:
        """What the time can be spent on: the whole suite in two ways, or tests alone, all or the best of them."""
        reruns, unlimited = "rerun" in self.options.techniques, limits.UNLIMITED_RUNS
        start_s = self.history.costs.start_s(self.options.isolation)
        suite_s = start_s + self.history.costs.tests_s(tests)
        if reruns:
            most = max_original_runs(self.options)
            yield RepeatableRun(tests=tests, ways=ORIGINAL, cost_s=suite_s, most=most)
        if self.has_orders:
            most = unlimited if self.options.endless else limits.MAX_PLAIN_SHUFFLES
            yield RepeatableRun(tests=tests, ways=OTHER_ORDER, cost_s=suite_s, most=most)
        by_index = sorted(tests, key=lambda test: -self.gain.of_test(test, ALONE) / self._alone_s(test))
        for share in (1.0, *limits.FORECAST_BEST_SHARES):
            chosen = [test for test in by_index[: ceil(share * len(tests))] if self._alone_s(test) < seconds]
            cost_s = sum(self._alone_s(test) for test in chosen)
            yield RepeatableRun(tests=chosen, ways=ALONE, cost_s=cost_s, most=unlimited)
            together_s = cost_s - start_s * (len(chosen) - ceil(len(chosen) / limits.MAX_BATCH_SIZE))
            if reruns:
                yield RepeatableRun(tests=chosen, ways=TOGETHER, cost_s=together_s, most=unlimited)

    def _alone_s(self, test: NodeId) -> float:
        return self.history.costs.run_s((test,), self.options.isolation)
