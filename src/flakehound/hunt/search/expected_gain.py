"""The expected gain of a run: how many flaky tests it is expected to show that no run has shown before.

A test can be flaky in several ways, and each kind of run can show some of them. The gain of every kind of run is
counted in detections, so that reruns, other orders, tests alone and pairs can be compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import accumulate, pairwise

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import (
    Batch,
    Isolation,
    Order,
    RunPlan,
    Setting,
    SharedPrefix,
    SingleRun,
    Walk,
)
from flakehound.core.statistics.index import PassingTest, chance_of_flaky, chances_after
from flakehound.core.statistics.prevalence import (
    POLLUTERS_PER_VICTIM,
    RATES,
    FlakyWay,
    Priors,
    prior_given_flaky_neighbour,
    prior_given_other_orders,
)
from flakehound.hunt import limits
from flakehound.hunt.search.order_passes import OrderPasses

Ways = tuple[FlakyWay, ...]
# The ways of being flaky that each kind of run can show.
WAYS_IN_ORIGINAL_ORDER = (FlakyWay.ANYWHERE, FlakyWay.IN_ITS_ORDER)
WAYS_IN_NEW_INTERPRETER = (*WAYS_IN_ORIGINAL_ORDER, FlakyWay.HASH_SEED)
WAYS_IN_OTHER_ORDER = (FlakyWay.ANYWHERE, FlakyWay.ORDER)
WAYS_ALONE = (FlakyWay.ANYWHERE, FlakyWay.ALONE, FlakyWay.COLD)
WAYS_WHEN_REPEATED = (*WAYS_ALONE, FlakyWay.REPEATED)
WAYS_IN_PAIRS = (FlakyWay.ANYWHERE,)
WAYS_TOGETHER = (FlakyWay.ANYWHERE,)  # some tests of the suite in one process
WAYS_WITHOUT_NEIGHBOURS = (FlakyWay.ANYWHERE, FlakyWay.ALONE)  # the same, but none that are close to each other
_SETTINGS_WITH_HASH_SEEDS = (Setting.ORIGINAL, Setting.SHUFFLED, Setting.PROBE)
NEARLY_ALL_TESTS = 0.95  # share of the tests from which on an order counts as a run of the whole suite
# The ways that are likelier in a file with another flaky test; for non-idempotent tests that is not known.
_LIKELIER_IN_FLAKY_FILES = tuple(way for way in FlakyWay if way is not FlakyWay.REPEATED)


class ExpectedGain:
    """The gain that is left in each test. A run counts as soon as it is planned, as runs go on in parallel."""

    def __init__(self, history: History, priors: Priors) -> None:
        self._history = history
        self._priors = {
            test.id: priors.by_way(test.id) for test in history.suite.tests
        }  # at the start of the search
        self._current_priors = {test: dict(chances) for test, chances in self._priors.items()}
        self._file_of = {test.id: test.module for test in history.suite.tests}
        self._flaky_files: set[str] = set()
        self._passes: dict[NodeId, dict[FlakyWay, int]] = {test: {} for test in self._priors}
        self._orders = OrderPasses(History(history.suite))
        self._failed: set[NodeId] = set()
        self._records_read = -1  # number of records when `update` last read the history
        self._expected_at_first = self.expected_flaky(list(self._priors))
        self._passes = {test: self._runs_so_far(test) for test in self._priors}
        self._orders = OrderPasses(history)
        # Of other orders, by the number of parts of the suite that are in the order; the last one is of all tests.
        self._order_gains = {test: self._gains_by_parts(test) for test in self._priors}
        self._gains = {test: {way: self._gain(test, way) for way in FlakyWay} for test in self._priors}
        self._sums = {way: sum(gains[way] for gains in self._gains.values()) for way in FlakyWay}

    @property
    def increases(self) -> int:
        """How often the gain of some tests was raised; between two increases no gain rises."""
        return len(self._flaky_files)

    @property
    def tests(self) -> list[NodeId]:
        """The tests that have not failed yet, in the original order; failed tests are diagnosed anyway."""
        return [test for test in self._priors if test not in self._failed]

    def of_way(self, test: NodeId, way: FlakyWay, runs_before: int = 0) -> float:
        """The probability that a run shows the test to be flaky in this way, after `runs_before` more passes."""
        return self._gain(test, way, runs_before) if runs_before else self._gains[test][way]

    def _gain(self, test: NodeId, way: FlakyWay, runs_before: int = 0) -> float:
        # Same formula as `core.statistics.index.chance_of_detection`, without one object per test.
        if test in self._failed:
            return 0.0
        if way is FlakyWay.ORDER:
            return self._gains_by_parts(test, runs_before)[-1]
        prior = self._current_priors[test][way]
        if way is FlakyWay.ALONE:
            prior = prior_given_other_orders(prior, self._orders.orders_with(test))
        passing, failing_next = _chances(way, self._passes[test][way] + runs_before)
        return prior * passing * failing_next / (prior * passing + 1 - prior)

    def _gains_by_parts(self, test: NodeId, runs_before: int = 0) -> list[float]:
        """The gain of another order with the first part of the suite, the first two parts, and so on."""
        if test in self._failed:
            return [0.0] * limits.ORDER_PARTS
        prior = self._current_priors[test][FlakyWay.ORDER]
        chances = [_chances(FlakyWay.ORDER, passes + runs_before) for passes in self._orders.by_part(test)]
        flaky_and_passed = prior * sum(passing for passing, _next in chances) / len(chances)
        scale = prior / len(chances) / (flaky_and_passed + 1 - prior)
        return list(accumulate(scale * passing * failing_next for passing, failing_next in chances))

    def passing_test(self, test: NodeId, way: FlakyWay) -> PassingTest:
        """The prior of one way and the number of passes that could have shown it."""
        passed = self._orders.mean(test) if way is FlakyWay.ORDER else self._passes[test].get(way, 0)
        return PassingTest(prior=self._priors[test][way], passed=passed)

    def of_plan(self, plan: RunPlan, ways: Ways | None = None) -> float:
        """Expected detections of one plan; `ways`: which it can show, if not the usual ones of such plans."""
        match plan:
            case Batch():
                return self._of_batch(plan.orders)
            case SingleRun():
                return self._of_order(plan, ways or ways_shown_by(plan))
            case SharedPrefix() | Walk():
                return self._of_pairs(plan.trunk, [copy.tests[-1] for copy in plan.copies])

    def _of_order(self, plan: SingleRun, ways: Ways) -> float:
        if len(plan.order) > NEARLY_ALL_TESTS * len(self._priors) and len(set(plan.order)) == len(plan.order):
            return sum(self._sums[way] for way in ways)
        others = tuple(way for way in ways if way is not FlakyWay.ORDER)
        gain = sum(self.of_test(test, others) for test in plan.order)
        if FlakyWay.ORDER in ways:
            parts = self._orders.parts_in(plan.order)
            gain += sum(self._order_gains[test][parts - 1] for test in plan.order)
        return gain + sum(self.of_way(test, FlakyWay.REPEATED) for test in repeated_in(plan.order))

    def of_test(self, test: NodeId, ways: Iterable[FlakyWay], runs_before: int = 0) -> float:
        """Expected detections of one execution that can show these ways, after `runs_before` more passes."""
        return sum(self.of_way(test, way, runs_before) for way in ways)

    def _of_batch(self, orders: Sequence[Order]) -> float:
        """Expected detections of tests alone, of which some may run several times."""
        times: Counter[NodeId] = Counter()
        total = 0.0
        for order in orders:
            total += self.of_test(order[-1], _ways_alone(order), times[order[-1]])
            times[order[-1]] += 1
        return total

    def _of_pairs(self, polluters: Order, tests: Sequence[NodeId]) -> float:
        """Expected detections if these polluters run before these tests: victims, and tests that are NOD."""
        share = POLLUTERS_PER_VICTIM * len(polluters) / max(1, len(self._priors) - 1)
        victims = [test for test in tests if test not in self._failed]
        unseen_victims = sum(
            chance_of_flaky(self.passing_test(test, FlakyWay.ORDER), RATES[FlakyWay.ORDER]) for test in victims
        )
        return min(1.0, share) * unseen_victims + sum(self.of_way(test, FlakyWay.ANYWHERE) for test in victims)

    def count_planned(self, plan: RunPlan, ways: Ways | None = None) -> None:
        """Count a planned run as one in which all tests pass; `update` corrects that where one fails.

        `ways`: as in `of_plan`.
        """
        counted: list[tuple[NodeId, Ways]]
        match plan:
            case Batch():
                counted = [(order[-1], _ways_alone(order)) for order in plan.orders]
            case SingleRun():
                shown = ways or ways_shown_by(plan)
                if FlakyWay.ORDER in shown:
                    self._orders.add(plan.order)
                counted = [(test, shown) for test in plan.order]
                counted += [(test, (FlakyWay.REPEATED,)) for test in repeated_in(plan.order)]
            case SharedPrefix() | Walk():
                counted = [(copy.tests[-1], WAYS_IN_PAIRS) for copy in plan.copies]
                counted += [(test, (FlakyWay.REPEATED,)) for test in repeated_in(plan.trunk)]
        for test, test_ways in counted:
            self._count(test, test_ways)

    def update(self) -> None:
        """Read from the history which tests have failed."""
        if len(self._history.records) == self._records_read:
            return
        self._records_read = len(self._history.records)
        for test in self._history.failed_tests():
            if test not in self._failed:
                self._failed.add(test)
                for way in FlakyWay:
                    self._sums[way] -= self._gains[test][way]
                    self._gains[test][way] = 0.0
                self._order_gains[test] = [0.0] * limits.ORDER_PARTS
        flaky_files = {
            self._file_of[test] for test in self._failed if self._history.first_pass_of(test) is not None
        }
        self._raise_priors_in(flaky_files - self._flaky_files)

    def _raise_priors_in(self, files: set[str]) -> None:
        """Raise the priors of the tests in these files: flaky tests often occur together."""
        self._flaky_files |= files
        tests_in_files = [test for test in self._priors if self._file_of[test] in files] if files else []
        for test in tests_in_files:
            for way in _LIKELIER_IN_FLAKY_FILES:
                self._current_priors[test][way] = prior_given_flaky_neighbour(self._current_priors[test][way])
                self._set_gain(test, way)

    def expected_flaky(self, tests: Sequence[NodeId]) -> float:
        """How many of these tests are expected to be flaky, by the rates of other suites and the passes so far."""
        return sum(
            chance_of_flaky(self.passing_test(test, way), RATES[way])
            for test in tests
            for way in (FlakyWay.ANYWHERE, FlakyWay.ORDER, FlakyWay.ALONE, FlakyWay.REPEATED)
        )

    def suite_factor(self, flaky_found: int, still_expected: float) -> float:
        """How many times more flaky tests than other suites this one has; at least 1.

        Suites differ more than the tests of one suite: one that had more flaky tests than expected so far will
        probably have more of them among its other tests as well.
        """
        expected_so_far = max(0.0, self._expected_at_first - still_expected)
        caution = limits.SUITE_FACTOR_CAUTION
        return min(limits.MAX_SUITE_FACTOR, max(1.0, (flaky_found + caution) / (expected_so_far + caution)))

    def _runs_so_far(self, test: NodeId) -> dict[FlakyWay, int]:
        tally = self._history.tally
        return {
            FlakyWay.ANYWHERE: tally(test).n,
            FlakyWay.IN_ITS_ORDER: tally(test, Setting.ORIGINAL).n,
            FlakyWay.ALONE: tally(test, Setting.ALONE).n,
            FlakyWay.COLD: tally(test, Setting.ALONE).n,
            FlakyWay.REPEATED: tally(test, Setting.REPEATED).n,
            FlakyWay.HASH_SEED: max(
                0, len(self._history.tally_by_hash_seed(test, *_SETTINGS_WITH_HASH_SEEDS)) - 1
            ),
        }

    def _count(self, test: NodeId, ways: Iterable[FlakyWay]) -> None:
        for way in ways:
            if way is not FlakyWay.ORDER:
                self._passes[test][way] += 1
            self._set_gain(test, way)
            if way is FlakyWay.ORDER:
                self._set_gain(test, FlakyWay.ALONE)

    def _set_gain(self, test: NodeId, way: FlakyWay) -> None:
        if way is FlakyWay.ORDER:
            self._order_gains[test] = self._gains_by_parts(test)
        gain = self._order_gains[test][-1] if way is FlakyWay.ORDER else self._gain(test, way)
        self._sums[way] += gain - self._gains[test][way]
        self._gains[test][way] = gain


@cache  # faster than the formula, which is computed for every test after every run of it
def _chances(way: FlakyWay, passed: int) -> tuple[float, float]:
    return chances_after(passed, RATES[way])


def repeated_in(order: Order) -> list[NodeId]:
    """The tests that run twice in a row in an order."""
    return [test for test, again in pairwise(order) if test == again]


def ways_shown_by(plan: SingleRun) -> Ways:
    """The ways of being flaky that a run of many tests in one process can show."""
    has_new_hash_seed = plan.isolation is Isolation.SPAWN and plan.hash_seed is not None
    if plan.setting is Setting.SHUFFLED:
        return (*WAYS_IN_OTHER_ORDER, FlakyWay.HASH_SEED) if has_new_hash_seed else WAYS_IN_OTHER_ORDER
    if plan.setting is Setting.PROBE:
        return (*WAYS_TOGETHER, FlakyWay.HASH_SEED) if has_new_hash_seed else WAYS_TOGETHER
    return WAYS_IN_NEW_INTERPRETER if has_new_hash_seed else WAYS_IN_ORIGINAL_ORDER


def _ways_alone(order: Order) -> Ways:
    return WAYS_WHEN_REPEATED if len(order) > 1 else WAYS_ALONE
