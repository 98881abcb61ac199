"""The first runs of a long suite: what each of them shows per second decides their sequence.

One reversed order exposes most order-dependent tests. Then each group of tests runs in a process of its own, cheap
tests twice, and every suspect in a copy of it: that names the groups of all polluters and exposes non-idempotent
tests. Single tests in processes of their own come last.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence

from flakehound.core.history import History
from flakehound.core.plans import Isolation, Order, RunPlan, Setting
from flakehound.hunt import long_limits
from flakehound.hunt.group_sweep import GroupSweep
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.suite_groups import SuiteGroups


class LongSuite:
    """Decides whether a suite is long, and plans the runs of its groups."""

    def __init__(
        self, history: History, options: SearchOptions, sweep: GroupSweep, groups: Callable[[], SuiteGroups]
    ) -> None:
        self._history = history
        self._options = options
        self._sweep = sweep
        self._groups = groups
        self._is_decided = False  # which orders run first
        self._first_orders: list[Order] = []  # planned, and not in the history yet
        self._waits_for_them: Callable[[], bool] = lambda: True

    @property
    def is_long(self) -> bool:
        """Whether the suite takes so long that suspects have to share runs; an unfinished first run means yes."""
        return self._options.isolation is Isolation.FORK and (
            self._options.awaits_reference or self._suite_s >= long_limits.LONG_ORDER_S
        )

    @property
    def _suite_s(self) -> float:
        return self._history.costs.tests_s(self._history.suite.order)

    @property
    def awaits_first_orders(self) -> bool:
        """Whether an order that will show many suspects is not planned yet, or is still running."""
        if not self._is_decided:
            return self.is_long
        self._first_orders = [order for order in self._first_orders if not self._history.runs_of(order)]
        return bool(self._first_orders) and self._waits_for_them()

    def note_first_orders(self, orders: Sequence[Order], time_left_s: Callable[[], float]) -> None:
        """Note that these orders are planned; none: there is no time for them.

        They are waited for twice as long as they should take: a run that turns out to be no evidence is dropped.
        """
        self._is_decided, self._first_orders = True, list(orders)
        end_s = time_left_s() - 2 * sum(map(self._history.costs.tests_s, orders))
        self._waits_for_them = lambda: time_left_s() > end_s

    def can_afford_orders(self, time_left_s: float) -> bool:
        """Whether one run of all tests leaves time for more: less is needed if other runs go on beside it."""
        is_parallel = self._options.jobs > 1
        share = long_limits.MAX_ORDER_SHARE_BESIDE_OTHERS if is_parallel else long_limits.MAX_ORDER_SHARE
        return self._suite_s <= share * time_left_s

    @property
    def has_seen_other_order(self) -> bool:
        """Whether nearly all tests have run in another order."""
        needed = long_limits.MIN_WHOLE_ORDER_SHARE * len(self._history.suite.tests)
        return any(
            record.setting is Setting.SHUFFLED and record.executed >= needed for record in self._history.records
        )

    def group_plans(self) -> Iterator[RunPlan]:
        """Each group that has not run yet, the one with the most expected flaky tests per second first.

        The groups change when a test is left out of them because it ended its process.
        """
        suite_groups, planned = self._groups(), set[Order]()
        waiting = deque(self._best_first(suite_groups))
        while waiting:
            number = waiting.popleft()
            planned.add(suite_groups.groups[number])
            yield from self._sweep.plans_of_new_group(number)
            if suite_groups is not self._groups():
                suite_groups = self._groups()
                waiting = deque(n for n in self._best_first(suite_groups) if suite_groups.groups[n] not in planned)

    def _best_first(self, suite_groups: SuiteGroups) -> list[int]:
        groups = suite_groups.groups
        return sorted(range(len(groups)), key=lambda number: -self._index_of(groups[number]))

    def plans_for_proven(self) -> Iterator[RunPlan]:
        """Runs of the groups after which a proven victim or brittle test has not run yet."""
        return self._sweep.plans_for_proven()

    def _index_of(self, group: Order) -> float:
        cost_s = self._history.costs.run_s(group, self._options.isolation)
        return sum(map(self._options.priors.flaky, group)) / cost_s
