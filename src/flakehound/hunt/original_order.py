"""The original order of the suite, and the tests close to one test in it."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flakehound.core.history import History, Tally, prefix_hash
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting


class OriginalOrder:
    """The collected order without tests that crash or hang their process."""

    def __init__(self, history: History, excluded: Collection[NodeId] = ()) -> None:
        self._history = history
        self._groups = {by: history.suite.groups(by) for by in ("parent", "module")}
        self._collected = {test.id: test for test in history.suite.tests}
        self._places = {test: place for place, test in enumerate(history.suite.order)}
        self.excluded = frozenset(excluded)
        self.tests: Order = tuple(t for t in history.suite.order if t not in self.excluded)
        self._earlier: dict[NodeId, Order] = {}  # of the tests that were asked for
        self._prefix_hashes = self._hashes_of_earlier()

    def earlier(self, test: NodeId) -> Order:
        """The tests before `test` in the original order; also defined for an excluded test."""
        if test not in self._earlier:
            earlier = self._history.suite.order[: self._places[test]]
            self._earlier[test] = tuple(t for t in earlier if t not in self.excluded)
        return self._earlier[test]

    def _hashes_of_earlier(self) -> dict[NodeId, int]:
        """The `prefix_hash` of the tests before each test."""
        hashes, value = {}, prefix_hash(())
        for test in self.tests:
            hashes[test] = value
            value = prefix_hash((test,), value)
        return hashes

    def tally(self, test: NodeId) -> Tally:
        """Passes and failures of `test` in runs of this order."""
        return self._history.tally(test, Setting.ORIGINAL, after=self._required_prefix(test))

    def tally_of_equal_runs(self, test: NodeId, isolation: Isolation) -> Tally:
        """Like `tally`, but only of runs that differ in nothing except the random seed."""
        hash_seed = self._history.forked_hash_seed if isolation is Isolation.FORK else None
        return self._history.tally(
            test, Setting.ORIGINAL, isolation=isolation, hash_seed=hash_seed, after=self._required_prefix(test)
        )

    def _required_prefix(self, test: NodeId) -> int | None:
        """The hash of the tests that must have run before `test` for a run to count; None: any."""
        # All runs of an excluded test date from before its exclusion, when the order still had all tests.
        return None if test in self.excluded else self._prefix_hashes[test]

    def of_same_class_and_file(self, test: NodeId, earlier: Sequence[NodeId]) -> list[Order]:
        """Two lists: those of the earlier tests that are in the class of `test`, and those in its file."""
        present = set(earlier)
        collected = self._collected[test]
        groups = (self._groups["parent"][collected.parent], self._groups["module"][collected.module])
        return [tuple(t for t in group if t in present) for group in groups]
