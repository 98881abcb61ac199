"""How many orders a test has passed in, by where the test that pollutes it may be.

Orders of the quickest tests take little time, but no number of them shows a victim whose polluter takes long. The
tests are thought of as parts of equal size, from the quickest to the slowest: an order of three fifths of the
tests has three of five parts, and shows the victims of polluters in these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Setting
from flakehound.hunt.limits import ORDER_PARTS


class OrderPasses:
    """Counts the orders that each test was in; those of the history first."""

    def __init__(self, history: History) -> None:
        self._tests = len(history.suite.order)
        self._passes: defaultdict[NodeId, list[int]] = defaultdict(lambda: [0] * ORDER_PARTS)
        for record in history.records:
            if record.setting is Setting.SHUFFLED:
                self.add(record.order)

    def parts_in(self, order: Order) -> int:
        """How many parts of the suite are in an order, at least one."""
        return max(1, min(ORDER_PARTS, round(ORDER_PARTS * len(order) / self._tests)))

    def add(self, order: Order) -> None:
        """Count an order for each of its tests."""
        parts = self.parts_in(order)
        for test in order:
            passes = self._passes[test]
            for part in range(parts):
                passes[part] += 1

    def by_part(self, test: NodeId) -> Sequence[int]:
        """The orders that the test was in, by part: those that could have shown a polluter in this part."""
        return self._passes[test]

    def orders_with(self, test: NodeId) -> int:
        """All orders that the test was in."""
        return self._passes[test][0]

    def mean(self, test: NodeId) -> int:
        """The orders that the test was in, each by its share of the suite."""
        return round(sum(self._passes[test]) / ORDER_PARTS)
