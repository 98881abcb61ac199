"""What a run is worth: how many flaky tests it is expected to show that no run showed before.

A test can be flaky in several ways, and each sort of run shows some of them. All are counted in one currency, so
that reruns, other orders, tests alone and pairs compete for the same seconds.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SharedPrefix, SingleRun, Walk
from flakehound.core.statistics.index import Known, chance_of_flaky, chances_after
from flakehound.core.statistics.prevalence import POLLUTERS, RATES, Priors, Way, knowing_neighbour
from flakehound.hunt import limits

ORIGINAL = (Way.ANYWHERE, Way.IN_ITS_ORDER)
NEW_INTERPRETER = (*ORIGINAL, Way.HASH_SEED)
OTHER_ORDER = (Way.ANYWHERE, Way.ORDER)
ALONE = (Way.ANYWHERE, Way.ALONE, Way.COLD)
TWICE = (*ALONE, Way.REPEATED)
PAIRED = (Way.ANYWHERE,)
TOGETHER = (Way.ANYWHERE,)  # some tests of the suite in one process
_TOGETHER = tuple(way for way in Way if way is not Way.REPEATED)  # of which it is not known


class Worth:
    """What is still to be found in each test. A run counts from when it is planned: others run meanwhile."""

    def __init__(self, history: History, priors: Priors) -> None:
        self._history = history
        self._priors = {test.id: priors.of(test.id) for test in history.suite.tests}  # at first
        self._now = {test: dict(chances) for test, chances in self._priors.items()}
        self._file_of = {test.id: test.module for test in history.suite.tests}
        self._files_lifted: set[str] = set()
        self._seen: dict[NodeId, dict[Way, int]] = {test: {} for test in self._priors}
        self._failed: set[NodeId] = set()
        self._chances: dict[Way, list[tuple[float, float]]] = {way: [] for way in Way}  # by number of passes
        self._read = -1  # records of the history, when we last looked who had failed
        self._at_first = self.left(list(self._priors))
        self._seen = {test: self._runs_so_far(test) for test in self._priors}
        self._gains = {test: {way: self._gain(test, way) for way in Way} for test in self._priors}
        self._sums = {way: sum(gains[way] for gains in self._gains.values()) for way in Way}

    @property
    def lifts(self) -> int:
        """How often something has become worth more, which else it never does."""
        return len(self._files_lifted)

    @property
    def tests(self) -> list[NodeId]:
        """The tests that have not failed yet, in the original order; those that have are followed up anyway."""
        return [test for test in self._priors if test not in self._failed]

    def gain(self, test: NodeId, way: Way, more: int = 0) -> float:
        """How likely one more run shows the test to be flaky in this way, `more` runs from now."""
        return self._gain(test, way, more) if more else self._gains[test][way]

    def _gain(self, test: NodeId, way: Way, more: int = 0) -> float:
        # `core.index.chance_of_detection` of a test that only passed, without an object for each of many tests.
        if test in self._failed:
            return 0.0
        prior = self._now[test][way]
        passed, known = self._seen[test][way] + more, self._chances[way]
        while len(known) <= passed:
            known.append(chances_after(len(known), RATES[way]))
        passing, failing_next = known[passed]
        return prior * passing * failing_next / (prior * passing + 1 - prior)

    def known(self, test: NodeId, way: Way, more: int = 0) -> Known:
        """What runs without a failure say about one way."""
        return Known(prior=self._priors[test][way], passed=self._seen[test].get(way, 0) + more)

    def of(self, plan: RunPlan) -> float:
        """Expected detections of one plan."""
        match plan:
            case Batch():
                return self._of_single(plan.orders)
            case SingleRun():
                return self._of_order(plan)
            case SharedPrefix() | Walk():
                return self._of_pairs(plan.trunk, [copy.tests[-1] for copy in plan.copies])

    def _of_order(self, plan: SingleRun) -> float:
        ways = ways_of(plan)
        if len(plan.order) == len(self._priors):
            return sum(self._sums[way] for way in ways)
        return sum(self.of_one(test, ways) for test in plan.order)

    def of_one(self, test: NodeId, ways: Iterable[Way], more: int = 0) -> float:
        """Expected detections of one execution that can show these ways."""
        return sum(self.gain(test, way, more) for way in ways)

    def _of_single(self, orders: Sequence[Order]) -> float:
        """Tests alone, some of them perhaps several times."""
        times: Counter[NodeId] = Counter()
        total = 0.0
        for order in orders:
            total += self.of_one(order[-1], TWICE if len(order) > 1 else ALONE, times[order[-1]])
            times[order[-1]] += 1
        return total

    def _of_pairs(self, polluters: Order, tests: Sequence[NodeId]) -> float:
        """Each victim that no order has shown may have its polluter in front of it now."""
        share = POLLUTERS * len(polluters) / max(1, len(self._priors) - 1)
        victims = [test for test in tests if test not in self._failed]
        hidden = sum(chance_of_flaky(self.known(test, Way.ORDER), RATES[Way.ORDER]) for test in victims)
        return min(1.0, share) * hidden + sum(self.gain(test, Way.ANYWHERE) for test in victims)

    def count(self, plan: RunPlan) -> None:
        """Take a planned run for one that shows nothing; `notice` corrects that where it does."""
        match plan:
            case Batch():
                for order in plan.orders:
                    self._count(order[-1], TWICE if len(order) > 1 else ALONE)
            case SingleRun():
                shown = ways_of(plan)
                for test in plan.order:
                    self._count(test, shown)
            case SharedPrefix() | Walk():
                for copy in plan.copies:
                    self._count(copy.tests[-1], PAIRED)

    def notice(self) -> None:
        """Take in which tests have failed by now."""
        if len(self._history.records) == self._read:
            return
        self._read = len(self._history.records)
        for test in self._history.ever_failed():
            if test not in self._failed:
                self._failed.add(test)
                for way in Way:
                    self._sums[way] -= self._gains[test][way]
                    self._gains[test][way] = 0.0
        flaky = {self._file_of[test] for test in self._failed if self._history.first_pass_of(test) is not None}
        self._lift(flaky - self._files_lifted)

    def _lift(self, files: set[str]) -> None:
        """Flaky tests come together: where one is known, the others of its file are likelier."""
        self._files_lifted |= files
        beside = [test for test in self._priors if self._file_of[test] in files] if files else []
        for test in beside:
            for way in _TOGETHER:
                self._now[test][way] = knowing_neighbour(self._now[test][way])
                self._set_gain(test, way)

    def left(self, tests: Sequence[NodeId]) -> float:
        """Flaky tests that are expected to be among these still, as far as the rates of other suites tell."""
        return sum(
            chance_of_flaky(self.known(test, way), RATES[way])
            for test in tests
            for way in (Way.ANYWHERE, Way.ORDER, Way.ALONE, Way.REPEATED)
        )

    def lift(self, found: int, left: float) -> float:
        """How many times more flaky tests than others this suite has, if so many are left; at least once."""
        expected = max(0.0, self._at_first - left)
        caution = limits.SUITE_FACTOR_CAUTION
        return min(limits.MAX_SUITE_FACTOR, max(1.0, (found + caution) / (expected + caution)))

    def _runs_so_far(self, test: NodeId) -> dict[Way, int]:
        tally = self._history.tally
        return {
            Way.ANYWHERE: tally(test).n,
            Way.IN_ITS_ORDER: tally(test, Setting.ORIGINAL).n,
            Way.ORDER: tally(test, Setting.SHUFFLED).n,
            Way.ALONE: tally(test, Setting.ALONE).n,
            Way.COLD: tally(test, Setting.ALONE).n,
            Way.REPEATED: tally(test, Setting.REPEATED).n,
            Way.HASH_SEED: max(0, len(self._history.tally_by_hash_seed(test, Setting.ORIGINAL)) - 1),
        }

    def _count(self, test: NodeId, ways: Iterable[Way]) -> None:
        for way in ways:
            self._seen[test][way] += 1
            self._set_gain(test, way)

    def _set_gain(self, test: NodeId, way: Way) -> None:
        now = self._gain(test, way)
        self._sums[way] += now - self._gains[test][way]
        self._gains[test][way] = now


def ways_of(plan: SingleRun) -> tuple[Way, ...]:
    """What a run of many tests in one process can show."""
    if plan.setting is Setting.SHUFFLED:
        return OTHER_ORDER
    if plan.setting is Setting.PROBE:
        return TOGETHER
    return NEW_INTERPRETER if plan.isolation is Isolation.SPAWN and plan.hash_seed is not None else ORIGINAL
