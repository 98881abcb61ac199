"""The search in fixed stages (`--policy rerun`): treats all tests alike, most productive runs first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import chain, islice

from flakehound.core.history import History
from flakehound.core.plans import Isolation, RunPlan
from flakehound.hunt import limits, long_limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.long_suite import LongSuite
from flakehound.hunt.search.long_suite_runs import LongSuiteRuns
from flakehound.hunt.search.orders import round_robin
from flakehound.hunt.search.suite_pairs import SuitePairs
from flakehound.hunt.search.techniques import TechniqueRuns


class StagedSearch:
    """The runs for one suite, in fixed stages."""

    ended_early = False  # fixed stages never end early

    def __init__(
        self,
        history: History,
        options: SearchOptions,
        test_order: Callable[[], OriginalOrder],
        long_suite: LongSuite | None = None,
    ) -> None:
        self._options = options
        self._long_suite = long_suite
        self._runs = TechniqueRuns(history, options, test_order)
        self.long_suite_runs = LongSuiteRuns(history, options, self._runs)
        self._pairs = SuitePairs(history, options, test_order)
        self.pairs_used = ""  # which form of PAIRWISE ran, for the report
        self.at_first_look = True  # until the first few orders have run
        self.at_first_round = True  # until a few runs of every kind except pairs were made

    def expected_detections_in(self, seconds: float) -> float | None:
        """None: fixed stages make no forecast."""

    @property
    def awaits_first_orders(self) -> bool:
        """Whether an order that will show most suspects of a long suite is still running."""
        return self._long_suite is not None and self._long_suite.awaits_first_orders

    @property
    def is_long(self) -> bool:
        """Whether the suite takes so long that suspects have to share runs."""
        return self._long_suite is not None and self._long_suite.is_long

    def plans(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """All runs of the search, in their sequence; may be endless."""
        if self._options.isolation is Isolation.SPAWN:
            return self._plans_by_spawn()
        if self._long_suite is not None and self._long_suite.is_long:
            return self._plans_of_long_suite(self._long_suite, time_left_s)
        return self._plans_by_fork(time_left_s)

    def _plans_by_fork(self, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        runs, original_runs, orders = self._runs, self._runs.original_order(), self._other_orders()
        yield from runs.first_original_order()
        yield from runs.earlier_failures()
        if self._has_runs_alone:
            yield from runs.each_alone(time_left_s() * limits.MAX_EARLY_RUN_SHARE)
        yield from islice(orders, limits.FIRST_LOOK_ORDERS)
        self.at_first_look = False
        yield from islice(orders, limits.FIRST_ORDERS - limits.FIRST_LOOK_ORDERS)
        hash_seeds = self._other_hash_seeds()
        yield from round_robin(
            islice(orders, limits.FIRST_ROUND_ORDERS),
            islice(original_runs, limits.FIRST_ROUND_ORIGINAL_RUNS),
            islice(hash_seeds, limits.FIRST_ROUND_HASH_SEEDS),
        )
        self.at_first_round = False
        if "pairwise" in self._options.techniques:
            yield from self._pair_plans(time_left_s())
        repeated = runs.each_repeated() if self._has_runs_alone else iter(())
        yield from round_robin(orders, original_runs, hash_seeds, chain(repeated, runs.each_alone_again()))

    def _plans_of_long_suite(self, suite: LongSuite, time_left_s: Callable[[], float]) -> Iterator[RunPlan]:
        """One other order and groups of tests first; then orders, reruns and single tests in turn."""
        runs, long_runs, orders = self._runs, self.long_suite_runs, self._other_orders()
        yield from runs.earlier_failures()
        yield from long_runs.doubtful_alone()
        first = self._first_orders_of_long_suite(suite, orders, time_left_s)
        suite.note_first_orders([order for plan in first for order in plan.orders], time_left_s)
        yield from first
        self.at_first_look = False
        yield from long_runs.failing_with_other_hash_seeds()
        yield from suite.group_plans()
        yield from long_runs.failing_with_other_hash_seeds()  # of tests that failed since
        if long_runs.has_unexplained_doubts and suite.can_afford_orders(time_left_s()):
            yield from islice(orders, 1)
        yield from long_runs.writers_first()
        hash_seeds = long_runs.quick_hash_seeds()
        yield from islice(hash_seeds, long_limits.FIRST_QUICK_HASH_SEEDS)
        yield from long_runs.order_with_repeated(time_left_s())
        self.at_first_round = False
        quick = round_robin(*map(long_runs.quick_orders, long_limits.ORDER_SHARES), hash_seeds)
        single = chain(long_runs.slow_repeated(), runs.each_alone(), runs.each_alone_again())
        spread: Iterator[RunPlan] = long_runs.spread_groups()
        alone = round_robin(spread, single) if self._has_runs_alone else iter(())
        yield from round_robin(quick, orders, self._other_hash_seeds(), runs.original_order(), alone)

    def _first_orders_of_long_suite(
        self, suite: LongSuite, orders: Iterator[RunPlan], time_left_s: Callable[[], float]
    ) -> list[RunPlan]:
        """The reversed order, unless it ran beside the first run, and a few orders of the quick tests.

        If it did and was no evidence, it runs after the groups, if these do not show all that it showed.
        """
        if not suite.can_afford_orders(time_left_s()):
            return []
        is_whole_order_due = not (self._options.doubtful.of_whole_order or suite.has_seen_other_order)
        whole = list(islice(orders, 1)) if is_whole_order_due else []
        # While the first run goes on, the times of the tests are not known.
        is_timed = not self._options.awaits_reference
        return [
            *whole,
            *islice(self.long_suite_runs.quick_orders(), long_limits.FIRST_QUICK_ORDERS if is_timed else 0),
        ]

    def _plans_by_spawn(self) -> Iterator[RunPlan]:
        """The runs if every process is a new interpreter: whole runs first, because they find most per second."""
        runs, original_runs, orders = self._runs, self._runs.original_order(), self._other_orders()
        yield from islice(original_runs, limits.SPAWN_FIRST_ORIGINAL_RUNS)
        yield from runs.earlier_failures()
        yield from _round_by_spawn(orders, original_runs)
        self.at_first_look = False
        yield from _round_by_spawn(orders, original_runs)
        self.at_first_round = False
        alone = runs.each_alone() if "rerun" in self._options.techniques else iter(())
        yield from round_robin(alone, orders, original_runs)
        yield from runs.each_alone_again()

    @property
    def _has_runs_alone(self) -> bool:
        return "rerun" in self._options.techniques or "pairwise" in self._options.techniques

    def _other_orders(self) -> Iterator[RunPlan]:
        return self._runs.other_orders() if "idflakies" in self._options.techniques else iter(())

    def _other_hash_seeds(self) -> Iterator[RunPlan]:
        varies_hash_seed = self._options.hash_seeds and "rerun" in self._options.techniques
        return self._runs.other_hash_seeds() if varies_hash_seed else iter(())

    def _pair_plans(self, time_left_s: float) -> Iterator[RunPlan]:
        form = self._pairs.affordable_form(time_left_s)
        for plan in self._pairs.plans(form):
            self.pairs_used = form
            yield plan


def _round_by_spawn(orders: Iterator[RunPlan], original_runs: Iterator[RunPlan]) -> Iterator[RunPlan]:
    return round_robin(
        islice(orders, limits.SPAWN_ROUND_ORDERS), islice(original_runs, limits.SPAWN_ROUND_ORIGINAL_RUNS)
    )
