"""Narrow down in one walk which earlier tests decide a later test's outcome.

A process runs the earlier tests in order. At several stops it is copied, and the copy runs the test in question.
Between the last stop without the effect and the next one with it there is a test that has the effect. That takes
one walk, where halving takes one run per round and each round waits for the one before.
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
    """Places of `order` between `low` and `high` at which the process is copied; as many as are affordable."""
    gap = high - low
    walk_s = history.costs.tests_s(order[:high])
    affordable = max(limits.MIN_WALK_STOPS_S, walk_s) / history.costs.run_s((test,), Isolation.FORK)
    count = max(limits.MIN_WALK_STOPS, min(isqrt(gap), int(affordable)))
    places = {low + gap * number // (count + 1) for number in range(1, count + 1)}
    return tuple(sorted(places - {low, high}))


def walk_plan(test: NodeId, order: Order, stops: tuple[int, ...], why: str, *, until: EffectOutcome) -> Walk:
    """One walk through `order` up to the last stop, or to the first at which the test ends as `until` says."""
    return Walk(order=order[: stops[-1]], test=test, stops=stops, until=until, why=why, setting=Setting.PROBE)


@dataclass(frozen=True, slots=True, kw_only=True)
class PrefixWalk:
    """A search for the tests with an effect: runs one test after growing parts of a list of earlier tests."""

    history: History
    test: NodeId
    earlier: Order  # all of them together have the effect
    outcome: EffectOutcome  # the effect
    runs_at_once: int = 1

    def window(self, why: str) -> Question[tuple[int, int]]:
        """Two places of the list: the effect is missing at the first, present at the second.

        If the effect comes and goes, they enclose its first appearance.
        """
        low, high = self._window_by_history()
        if high - low < limits.MIN_WALK_WINDOW or self._is_cheaper_one_by_one(low, high):
            return low, high
        stops = stops_between(self.history, self.test, self.earlier, low, high)
        # A walk that gave no answer is not repeated: the process could not be copied, or the test had no outcome.
        if not self._was_walked(stops):
            yield NeedRuns.of([walk_plan(self.test, self.earlier, stops, why, until=self.outcome)])
        return low, high

    def _is_cheaper_one_by_one(self, low: int, high: int) -> bool:
        """Whether running the test after each single test in between costs less than another walk."""
        costs = self.history.costs
        singles_s = sum(costs.run_s((earlier, self.test), Isolation.FORK) for earlier in self.earlier[low:high])
        walk_s = costs.tests_s(self.earlier[:high])
        stops_s = isqrt(high - low) * costs.run_s((self.test,), Isolation.FORK)
        return singles_s / self.runs_at_once < walk_s + stops_s

    def _window_by_history(self) -> tuple[int, int]:
        low = 0
        for place, tally in self.history.tallies_along(self.earlier, self.test).items():
            if shows(self.outcome, tally):
                return low, place
            low = place
        return low, len(self.earlier)

    def _was_walked(self, stops: tuple[int, ...]) -> bool:
        trunk = self.earlier[: stops[-1]]
        return any(self.history.runs_of(order) for order in (trunk, (*trunk, self.test)))
