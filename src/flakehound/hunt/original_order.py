"""What lies near a test, and which original order applies."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting


class Neighbourhood:
    """The suite as inquiries see it, without the tests that end their process."""

    def __init__(self, history: History, left_out: Collection[NodeId] = ()) -> None:
        self._history = history
        self._groups = {by: history.suite.groups(by) for by in ("parent", "module")}
        self._home = {test.id: test for test in history.suite.tests}
        self._places = {test: place for place, test in enumerate(history.suite.order)}
        self._gone = frozenset(left_out)
        self.original_order: Order = tuple(t for t in history.suite.order if t not in self._gone)

    def earlier(self, test: NodeId) -> Order:
        """The tests before it in the original order, for a test that is left out of it as well."""
        return tuple(t for t in self._history.suite.order[: self._places[test]] if t not in self._gone)

    def original_tally(self, test: NodeId) -> Tally:
        """Passes and failures in the original order, as it stands."""
        return self._history.tally(test, Setting.ORIGINAL, after=self._same_earlier(test))

    def usual_original_tally(self, test: NodeId, isolation: Isolation) -> Tally:
        """The same where nothing but the seed differs between the runs: no new interpreter, no other hash seed."""
        hash_seed = self._history.forked_hash_seed if isolation is Isolation.FORK else None
        return self._history.tally(
            test, Setting.ORIGINAL, isolation=isolation, hash_seed=hash_seed, after=self._same_earlier(test)
        )

    def _same_earlier(self, test: NodeId) -> Order | None:
        # A test that is left out has been seen in the original order only before that.
        return None if test in self._gone else self.earlier(test)

    def near(self, test: NodeId, earlier: Sequence[NodeId]) -> list[Order]:
        """The earlier tests of the same class, then of the same file."""
        present = set(earlier)
        home = self._home[test]
        groups = (self._groups["parent"][home.parent], self._groups["module"][home.module])
        return [tuple(t for t in group if t in present) for group in groups]
