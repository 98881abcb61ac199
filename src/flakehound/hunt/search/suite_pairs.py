"""PAIRWISE over the whole suite, where no victim is known yet: does one test change the outcome of another?

In the exact form each test runs once, and every other test in a copy of its process. In the grouped form several
tests run before the process is copied: fewer processes, but a failure only says that one test of the group caused
it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order, Setting, SharedPrefix
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.selected import can_be_victim, possible_polluters
from flakehound.hunt.shared_state import SharedState

_GROUP_SIZES = {"exact": 1, "grouped": limits.POLLUTERS_PER_GROUP}


class SuitePairs:
    """The pairs of every possible polluter with every possible victim."""

    def __init__(self, history: History, options: SearchOptions, test_order: Callable[[], OriginalOrder]) -> None:
        self._history = history
        self._options = options
        self._test_order = test_order
        self._shared_state = SharedState(history)

    def affordable_form(self, time_left_s: float) -> str:
        """The form that the user asked for, or the most exact one that fits the time: exact, grouped or none."""
        if self._options.pairs != "auto":
            return self._options.pairs
        if self._options.isolation is Isolation.SPAWN:
            return "none"
        tests, costs = self._test_order().tests, self._history.costs
        one_polluter_s = sum(costs.run_s((test,), self._options.isolation) for test in tests)
        max_s = limits.MAX_PAIRS_SHARE * time_left_s * self._options.jobs
        if one_polluter_s * len(tests) <= max_s:
            return "exact"
        return "grouped" if one_polluter_s * len(tests) / limits.POLLUTERS_PER_GROUP <= max_s else "none"

    def plans(self, form: str) -> Iterator[SharedPrefix]:
        """The runs of all pairs that the history does not have yet."""
        tests = self._test_order().tests
        polluters = possible_polluters(self._options, tests)
        size = _GROUP_SIZES.get(form, 0)
        for start in range(0, len(polluters), size) if size else ():
            group = polluters[start : start + size]
            if victims := self._victims_after(group, tests):
                yield SharedPrefix(
                    prefix=group,
                    continuations=tuple((victim,) for victim in victims),
                    why="does one test change the outcome of another?",
                    setting=Setting.PROBE,
                    isolation=self._options.isolation,
                )

    def _victims_after(self, polluters: Order, tests: Order) -> list[NodeId]:
        return [
            test
            for test in tests
            if test not in polluters
            and can_be_victim(self._options, test)
            and not self._history.tally(test, Setting.ORIGINAL).is_mixed  # NOD: a pair would prove nothing
            and not self._history.executions_after(polluters, test)
            and any(self._shared_state.can_affect(polluter, test) for polluter in polluters)
        ]
