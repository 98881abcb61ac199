"""Narrow down in one walk which earlier tests decide a later test's outcome.

A process runs the earlier tests in order. At several stops it is copied, and the copy runs the test in
question. Between the last stop without the effect and the next one with it stands a test that matters. That
takes one walk where halving takes one walk and a round of waiting per half.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, Walk
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.order_effects import EffectOutcome, shows
from flakehound.hunt.diagnosis.questions import NeedRuns, Question


def stops_between(history: History, test: NodeId, order: Order, low: int, high: int) -> tuple[int, ...]:
    """Places of `order` between `low` and `high` at which a copy of the process can be afforded."""
    gap = high - low
    walk_s = history.costs.tests_s(order[:high])
    affordable = max(limits.MIN_WALK_STOPS_S, walk_s) / history.costs.run_s((test,), Isolation.FORK)
    stops = max(limits.MIN_WALK_STOPS, min(isqrt(gap), int(affordable)))
    places = {low + gap * number // (stops + 1) for number in range(1, stops + 1)}
    return tuple(sorted(places - {low, high}))


def walk_plan(test: NodeId, order: Order, at: tuple[int, ...], why: str, *, until: EffectOutcome) -> Walk:
    """One walk through `order` up to its last stop, or to the first that ends as `until` says."""
    return Walk(order=order[: at[-1]], test=test, stops=at, until=until, why=why, setting=Setting.PROBE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixWalk:
    """What the history says about one test after growing parts of one list."""

    history: History
    test: NodeId
    earlier: Order  # all of them together have the effect
    outcome: EffectOutcome  # the effect
    width: int = 1  # how many runs go at once

    def window(self, why: str) -> Question[tuple[int, int]]:
        """Places between which a test that matters stands: without the effect at the first, with it at the second.

        The first such place counts, should the effect come and go.
        """
        low, high = self._known_window()
        if high - low < limits.MIN_WALK_WINDOW or self._is_cheaper_one_by_one(low, high):
            return low, high
        at = stops_between(self.history, self.test, self.earlier, low, high)
        # Walked in vain: the process could not be copied, or the test gave no answer.
        if not self._is_walked(at):
            yield NeedRuns.of([walk_plan(self.test, self.earlier, at, why, until=self.outcome)])
        return low, high

    def _is_cheaper_one_by_one(self, low: int, high: int) -> bool:
        """Whether to run the test after each one between costs less than another walk."""
        costs = self.history.costs
        singles_s = sum(costs.run_s((earlier, self.test), Isolation.FORK) for earlier in self.earlier[low:high])
        walk_s = costs.tests_s(self.earlier[:high])
        stops_s = isqrt(high - low) * costs.run_s((self.test,), Isolation.FORK)
        return singles_s / self.width < walk_s + stops_s

    def _known_window(self) -> tuple[int, int]:
        low = 0
        for place, seen in self.history.tallies_along(self.earlier, self.test).items():
            if shows(self.outcome, seen):
                return low, place
            low = place
        return low, len(self.earlier)

    def _is_walked(self, at: tuple[int, ...]) -> bool:
        walked = self.earlier[: at[-1]]
        return any(self.history.runs_of(order) for order in (walked, (*walked, self.test)))
