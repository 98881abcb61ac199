"""Find the few earlier tests that decide about one test.

Guesses first, then one walk with rungs where processes can be copied along the way, then delta debugging.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.hunt.diagnosis.minimal_prefix import Decides, guesses_for, shrink
from flakehound.hunt.diagnosis.prefix_walk import Ladder
from flakehound.hunt.diagnosis.questions import Asker
from flakehound.hunt.original_order import OriginalOrder

WORTH_A_WALK = 8  # earlier tests from which on one walk with rungs is quicker than halving
DEAR_S = 1.0  # from which on a run is worth a detour, and not made where it only repeats what is nearly known
SHORT = 3  # tests in a guess that is tried before such a walk

Effect = Callable[[Tally], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisiveSearch:
    """The search for one test; keeps no state, the history has it."""

    test: NodeId
    ask: Asker
    history: History
    test_order: OriginalOrder
    known: Sequence[NodeId]  # polluters found in other cases
    width: int  # how many questions may be put at once
    snapshots: bool  # whether a walk can be copied along the way

    def smallest(self, prefix: Order, effect: Effect, trials: int = 1) -> Order:
        """No test of it can be left out without losing the effect that all of them have."""

        def decides(candidates: Sequence[Order]) -> list[bool]:
            why = f"which earlier tests decide about {self.test}?"
            orders = [(*candidate, self.test) for candidate in candidates]
            return [effect(seen) for seen in self.ask.each_last_of(orders, times=trials, why=why)]

        # A group that is most of the list is no better a guess than its half.
        near = [group for group in self.test_order.close_to(self.test, prefix) if 2 * len(group) <= len(prefix)]
        guesses = guesses_for(self.test, prefix, self.known, [*near, self._cheap_part(prefix)])
        guesses.sort(key=self.cost_s)
        proven = [short for short in self.known_to_decide(effect) if not self._only_by_chance(short, prefix)]
        if trials > 1 or len(prefix) < WORTH_A_WALK or not self.snapshots:
            return shrink(prefix, decides, [*proven, *guesses], width=self.width)
        short = next((g for g in [*proven, *guesses] if len(g) <= SHORT and decides([g])[0]), ())
        return shrink(short or self._narrowed(prefix, effect, decides), decides, width=self.width)

    def _narrowed(self, prefix: Order, effect: Effect, decides: Decides) -> Order:
        """A part of these tests that still decides, found in one walk through them."""
        shown_by = "P" if effect is passes else "F"
        ladder = Ladder(
            history=self.history,
            test=self.test,
            earlier=prefix,
            effect=effect,
            shown_by=shown_by,
            width=self.width,
        )
        low, high = ladder.window(why=f"which earlier tests decide about {self.test}?")
        window = prefix[low:high]
        if len(window) < len(prefix):
            singles = [(earlier,) for earlier in window]
            for single, decisive in zip(singles, decides(singles), strict=True):
                if decisive:
                    return single
            if decides([window])[0]:
                return window
        return prefix[:high]

    def _only_by_chance(self, short: Order, prefix: Order) -> bool:
        """Whether it went both ways after the short list, and not after all of these tests."""
        seen, wanted = (self.history.tally_after(order, self.test) for order in (short, prefix))
        return seen.is_mixed and not wanted.is_mixed

    def _cheap_part(self, prefix: Order) -> Order:
        """The earlier tests without the few that take most of the time; nothing where the whole is cheap."""
        total = self.cost_s(prefix)
        return () if total < DEAR_S else tuple(t for t in prefix if self.history.costs.test_s(t) < 0.2 * total)

    def cost_s(self, order: Order) -> float:
        """What one run of the order takes, without the fork."""
        # Coarse, so that guesses of one price keep the order that makes them good guesses.
        return round(self.history.costs.tests_s(order), 1)

    def known_to_decide(self, effect: Effect) -> list[Order]:
        """Short lists that had the effect before, best proven first: a search never changes its mind."""
        return [
            short
            for short in self.history.short_prefixes(self.test)
            if self.test not in short and effect(self.history.tally_after(short, self.test))
        ]


def passes(seen: Tally) -> bool:
    """The effect of state-setters."""
    return seen.n > 0 and not seen.failed


def fails(seen: Tally) -> bool:
    """The effect of polluters."""
    return seen.failed > 0
