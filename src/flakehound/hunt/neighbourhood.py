"""What lies near a test, and which original order applies."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Setting


class Neighbourhood:
    """The suite as inquiries see it, without the tests that end their process."""

    def __init__(self, history: History, left_out: Collection[NodeId] = ()) -> None:
        self._history = history
        self._groups = {by: history.suite.groups(by) for by in ("parent", "module")}
        self._home = {test.id: test for test in history.suite.tests}
        gone = frozenset(left_out)
        self.original_order: Order = tuple(t for t in history.suite.order if t not in gone)

    def original_tally(self, test: NodeId) -> Tally:
        """Passes and failures in the original order."""
        return self._history.tally(test, Setting.ORIGINAL)

    def near(self, test: NodeId, earlier: Sequence[NodeId]) -> list[Order]:
        """The earlier tests of the same class, then of the same file."""
        present = set(earlier)
        home = self._home[test]
        groups = (self._groups["parent"][home.parent], self._groups["module"][home.module])
        return [tuple(t for t in group if t in present) for group in groups]
