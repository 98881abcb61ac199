"""The runs of each technique that need no suspect: RERUN, tests alone and repeated, IDFLAKIES.

Lazy sequences. A resumed hunt goes through them again and skips the runs that the history has.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from math import inf

from flakehound.core.history import History, prefix_hash
from flakehound.core.plans import Batch, Isolation, Order, Setting, SingleRun
from flakehound.hunt import limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.original_order import OriginalOrder
from flakehound.hunt.search.orders import distinct_orders, orders_to_try
from flakehound.hunt.search.selected import max_original_runs, tests_to_rerun


class TechniqueRuns:
    """The runs of one suite, technique by technique."""

    def __init__(self, history: History, options: SearchOptions, test_order: Callable[[], OriginalOrder]) -> None:
        self._history = history
        self._options = options
        self._test_order = test_order

    def first_original_order(self) -> Iterator[SingleRun]:
        """The few runs in the original order that every search begins with."""
        return self._original_order(min(limits.FIRST_ORIGINAL_RUNS, max_original_runs(self._options)))

    def original_order(self) -> Iterator[SingleRun]:
        """All runs in the original order."""
        return self._original_order(max_original_runs(self._options))

    def _original_order(self, max_runs: int) -> Iterator[SingleRun]:
        for number in range(max_runs):
            order = self._test_order().tests
            if self._runs_of_original(order) <= number:
                yield self.single_run(order, "original order", Setting.ORIGINAL)

    def _runs_of_original(self, order: Order) -> int:
        """How many runs in the original order were made, with the reference run but no other hash seeds."""
        runs = self._history.runs_of(order, self._options.isolation)
        if self._options.isolation is Isolation.FORK:
            runs += min(1, self._history.runs_of(order, Isolation.SPAWN))
        return runs + self._options.awaits_reference  # it goes on, and will be one of them

    def earlier_failures(self) -> Iterator[Batch]:
        """Runs of tests that failed in earlier hunts or pytest runs: most failures come from a few tests."""
        yield from self._first_orders()
        collected_ids = {test.id for test in self._history.suite.tests}
        for test in self._options.suspects:
            missing = limits.RUNS_OF_EARLIER_FAILURES - self._history.tally_after((), test).n
            if test in collected_ids and missing > 0 and "rerun" in self._options.techniques:
                yield Batch(
                    orders=((test,),) * missing,
                    why=f"does {test} fail again, as in an earlier pytest run?",
                    setting=Setting.ALONE,
                    isolation=self._options.isolation,
                )

    def _first_orders(self) -> Iterator[Batch]:
        """The orders that should run first; those of a single test that should run once share batches."""
        if "rerun" not in self._options.techniques:
            return
        times = Counter(self._options.first_orders)
        once = [order for order, number in times.items() if number == 1 and len(set(order)) == 1]
        for order in (order for order in times if order not in set(once)):
            missing = times[order] - self._history.runs_of(order, self._options.isolation)
            if missing > 0:
                yield Batch(
                    orders=(order,) * missing,
                    why=f"does {order[-1]} fail again, as in an earlier hunt?",
                    # A test alone, or twice in a row, is counted as in `each_alone`.
                    setting=Setting.ALONE if len(set(order)) == 1 else Setting.PROBE,
                    isolation=self._options.isolation,
                )
        yield from self.batches(order for order in once if not self._history.runs_of(order))

    def other_hash_seeds(self) -> Iterator[SingleRun]:
        """Runs in the original order with other hash seeds; only new interpreters can have one."""
        spawned = (record for record in self._history.records if record.isolation is Isolation.SPAWN)
        tried_seeds = {record.hash_seed for record in spawned if len(record.order) > 1}
        for number in range(limits.MAX_HASH_SEEDS):
            hash_seed = hash_seed_for(self._options.seed, number)
            if hash_seed in tried_seeds:
                continue
            yield SingleRun(
                order=self._test_order().tests,
                why="original order, another hash seed",
                setting=Setting.ORIGINAL,
                isolation=Isolation.SPAWN,
                hash_seed=hash_seed,
            )

    def each_alone(self, max_repeated_s: float = inf) -> Iterator[Batch]:
        """Each test in a process of its own, twice in a row if it can be repeated: shows two kinds in one fork.

        A test that takes longer than `max_repeated_s` runs once here; `each_repeated` repeats it.
        """
        return self.batches(self._orders_alone(max_repeated_s), compare_state=self._options.states)

    def _orders_alone(self, max_repeated_s: float) -> Iterator[Order]:
        for test in self._history.suite.tests:
            is_cheap = self._history.costs.test_s(test.id) <= max_repeated_s
            if not self._history.tally(test.id, Setting.ALONE).n:
                yield (test.id, test.id) if test.repeatable and is_cheap else (test.id,)

    def each_repeated(self) -> Iterator[Batch]:
        """Each test that was not repeated yet, twice in one process."""
        for test in self._history.suite.tests:
            if test.repeatable and not self._history.tally(test.id, Setting.REPEATED).n:
                yield self.batch_of([(test.id, test.id)])

    def each_alone_again(self) -> Iterator[Batch]:
        """The tests to rerun, each in a process of its own, round after round."""
        tests = tests_to_rerun(self._options, self._history.suite)
        rounds = limits.UNLIMITED_RUNS if self._options.endless else limits.MAX_RERUNS_ALONE
        for _round in range(rounds if tests else 0):
            yield from self.batches((test,) for test in tests)

    def batches(self, orders: Iterable[Order], *, compare_state: bool = False) -> Iterator[Batch]:
        """Split the orders into batches of limited size and time."""
        batch: list[Order] = []
        seconds = 0.0
        for order in orders:
            batch.append(order)
            seconds += self._history.costs.run_s(order, self._options.isolation)
            if seconds > limits.MAX_BATCH_S or len(batch) >= limits.MAX_BATCH_SIZE:
                yield self.batch_of(batch, compare_state=compare_state)
                batch, seconds = [], 0.0
        if batch:
            yield self.batch_of(batch, compare_state=compare_state)

    def batch_of(self, orders: Iterable[Order], *, compare_state: bool = False) -> Batch:
        """A batch of tests alone, each order in a process of its own."""
        return Batch(
            orders=tuple(orders),
            why="each test alone",
            setting=Setting.ALONE,
            isolation=self._options.isolation,
            compare_state=compare_state,
        )

    def other_orders(self) -> Iterator[SingleRun]:
        """Each order other than the original once, up to the number that the user asked for."""
        max_orders = self._options.shuffles
        planned: set[int] = set()
        for order in self._distinct_orders():
            if max_orders is not None and len(planned) >= max_orders:
                return
            planned.add(prefix_hash(order))
            if self._history.runs_of(order) == 0:
                yield self.single_run(order, "another order", Setting.SHUFFLED)

    def _distinct_orders(self) -> Iterator[Order]:
        """Orders without tests that nothing may run beside; one of the first begins with these, backwards."""
        orders = distinct_orders(self._orders_to_try(), self._test_order().tests)
        yield from islice(orders, limits.FIRST_ORDERS)
        left_out = tuple(test for test in self._test_order().tests if test in self._options.left_out_of_orders)
        if left_out:
            yield (*reversed(left_out), *reversed(self.tests_in_orders()))
        yield from orders

    def tests_in_orders(self) -> Order:
        """The tests of other orders, in the original order."""
        left_out, tests = self._options.left_out_of_orders, self._test_order().tests
        return tuple(test for test in tests if test not in left_out) if left_out else tests

    def _orders_to_try(self) -> Iterator[Order]:
        unlimited = self._options.endless or self._options.shuffles is not None
        return orders_to_try(self._history.suite, self.tests_in_orders, self._options.seed, unlimited=unlimited)

    def single_run(self, order: Order, why: str, setting: Setting) -> SingleRun:
        """One process with these tests."""
        return SingleRun(order=order, why=why, setting=setting, isolation=self._options.isolation)


def hash_seed_for(seed: int, number: int) -> int:
    """A hash seed for each number, different for each seed of a hunt."""
    return (seed * 7919 + number * 104729 + 1) % 4294967295
