"""Narrow down in one walk which earlier tests decide a later test's outcome.

A process runs the earlier tests in order. At several places it is copied, and the copy runs the test in question:
a rung. Between the last rung without the effect and the next one with it stands a test that matters. That takes
one walk where halving takes one walk and a round of waiting per half.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt

from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.hunt.diagnosis.questions import Need

SHORTEST = 6  # earlier tests below which halving is as quick
LEAST_RUNGS = 3
CHEAP_WALK_S = 0.2  # rungs may cost so much, or as much as the walk

Effect = Callable[[Tally], bool]


def rungs_between(history: History, test: NodeId, order: Order, low: int, high: int) -> tuple[int, ...]:
    """Places of `order` from `low` to `high`, both left out, at which a look is worth its price."""
    gap = high - low
    walk_s = history.costs.tests_s(order[:high])
    affordable = max(CHEAP_WALK_S, walk_s) / history.costs.run_s((test,), Isolation.FORK)
    rungs = max(LEAST_RUNGS, min(isqrt(gap), int(affordable)))
    places = {low + gap * number // (rungs + 1) for number in range(1, rungs + 1)}
    return tuple(sorted(places - {low, high}))


def climb(test: NodeId, order: Order, at: tuple[int, ...], why: str, *, until: str) -> RunPlan:
    """One walk through `order` up to its last rung, or to the first that ends as `until` says."""
    return RunPlan(
        order=order[: at[-1]], branches=((test,),) * len(at), at=at, until=until, why=why, setting=Setting.PROBE
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ladder:
    """What the history says about one test after growing parts of one list."""

    history: History
    test: NodeId
    earlier: Order  # all of them together have the effect
    effect: Effect
    shown_by: str  # the effect is that the test fails ("F") or passes ("P")
    width: int = 1  # how many runs go at once

    def window(self, why: str) -> tuple[int, int]:
        """Places between which a test that matters stands: without the effect at the first, with it at the second.

        The first such place counts, should the effect come and go.
        """
        low, high = self._known_window()
        if high - low < SHORTEST or self._is_cheaper_one_by_one(low, high):
            return low, high
        at = rungs_between(self.history, self.test, self.earlier, low, high)
        # Walked in vain: the process could not be copied, or the test gave no answer.
        if not self._is_walked(at):
            raise Need([climb(self.test, self.earlier, at, why, until=self.shown_by)])
        return low, high

    def _is_cheaper_one_by_one(self, low: int, high: int) -> bool:
        """Whether to run the test after each one between costs less than another walk."""
        costs = self.history.costs
        singles = sum(costs.run_s((earlier, self.test), Isolation.FORK) for earlier in self.earlier[low:high])
        walk = costs.tests_s(self.earlier[:high])
        rungs = isqrt(high - low) * costs.run_s((self.test,), Isolation.FORK)
        return singles / self.width < walk + rungs

    def _known_window(self) -> tuple[int, int]:
        low = 0
        for place, seen in self.history.tallies_along(self.earlier, self.test).items():
            if self.effect(seen):
                return low, place
            low = place
        return low, len(self.earlier)

    def _is_walked(self, at: tuple[int, ...]) -> bool:
        walked = self.earlier[: at[-1]]
        return any(self.history.runs_of(order) for order in (walked, (*walked, self.test)))
