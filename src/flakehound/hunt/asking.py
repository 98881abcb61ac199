"""Write a search as if answers were at hand; a missing answer becomes the next plan.

A search asks for outcomes in the order it needs them. What the history knows is answered at once; what it
does not know stops the search with `Need`, whose plans the engine runs before the search is asked again
from its start. So a search keeps no state, survives a killed hunt, and is tested with hand-made histories.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting

PATIENCE = 2  # runs beyond the asked number after which a test that only skips itself is asked no more


class Need(Exception):
    """The search cannot go on before these plans have run."""

    def __init__(self, plans: Iterable[RunPlan]) -> None:
        super().__init__()
        self.plans = list(plans)


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Answers from one history."""

    history: History
    isolation: Isolation = Isolation.FORK

    def last_of(self, order: Order, *, times: int = 1, why: str, undisturbed: bool = False) -> Tally:
        """Outcomes of the last test of `order`, at least `times` of them."""
        seen = self._seen(order, undisturbed)
        if seen.n < times and not self._is_mute(order, times):
            raise Need([self._plan(order, why, undisturbed)] * (times - seen.n))
        return seen

    def each_last_of(self, orders: Iterable[Order], *, times: int = 1, why: str) -> list[Tally]:
        """The same for several orders, whose missing runs can then be made at once."""
        orders = list(orders)
        missing = [
            self._plan(order, why, False)
            for order in orders
            if not self._is_mute(order, times)
            for _ in range(times - self._seen(order, False).n)
        ]
        if missing:
            raise Need(missing)
        return [self._seen(order, False) for order in orders]

    def original(self, order: Order, test_n: int, *, times: int, why: str) -> None:
        """See to it that a test with `test_n` executions in the original order gets `times` of them."""
        if test_n < times and self.history.runs_of(order) < times + PATIENCE:
            plan = RunPlan(order=order, why=why, setting=Setting.ORIGINAL, isolation=self.isolation)
            raise Need([plan] * (times - test_n))

    def in_new_interpreters(self, test: NodeId, *, times: int, why: str) -> Tally:
        """Outcomes alone in new interpreters, at least `times` of them."""
        seen = self.history.tally(test, Setting.ALONE, Setting.ORIGINAL, isolation=Isolation.SPAWN)
        made = sum(s.record.isolation is Isolation.SPAWN for s in self.history.after((), test))
        if seen.n < times and made < times + PATIENCE:
            plan = RunPlan(order=(test,), why=why, setting=Setting.ALONE, isolation=Isolation.SPAWN)
            raise Need([plan] * (times - seen.n))
        return seen

    def _seen(self, order: Order, undisturbed: bool) -> Tally:
        return self.history.tally_after(order[:-1], order[-1], disturbed=False if undisturbed else None)

    def _is_mute(self, order: Order, times: int) -> bool:
        # A test that skips itself, or never runs because an earlier one ends the process, never answers.
        made = max(len(self.history.after(order[:-1], order[-1])), self.history.runs_of(order))
        return made >= times + PATIENCE and self._seen(order, False).n < made

    def _plan(self, order: Order, why: str, undisturbed: bool) -> RunPlan:
        setting = Setting.ALONE if len(order) == 1 else Setting.PROBE
        return RunPlan(order=order, why=why, setting=setting, isolation=self.isolation, undisturbed=undisturbed)
