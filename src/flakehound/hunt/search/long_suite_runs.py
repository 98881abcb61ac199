"""The runs of a long suite that need no suspect: of its quick tests, and of tests that failed before.

Lazy sequences, like those of `techniques.py`; empty if their technique is not used.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from math import isqrt

from flakehound.core.history import History
from flakehound.core.plans import Batch, CollectedTest, Isolation, Order, Setting, SingleRun
from flakehound.hunt import limits, long_limits
from flakehound.hunt.options import SearchOptions
from flakehound.hunt.quick_tests import quick_tests
from flakehound.hunt.search.quick_orders import quick_orders, spread_groups
from flakehound.hunt.search.techniques import TechniqueRuns, hash_seed_for


class LongSuiteRuns:
    """The runs of one long suite."""

    def __init__(self, history: History, options: SearchOptions, runs: TechniqueRuns) -> None:
        self._history = history
        self._options = options
        self._runs = runs
        self._runs_alone = not {"rerun", "pairwise"}.isdisjoint(options.techniques)
        self._varies_hash_seed = options.hash_seeds and "rerun" in options.techniques

    def failing_with_other_hash_seeds(self) -> Iterator[SingleRun]:
        """Runs alone with other hash seeds of the few tests that failed in all runs; some may pass then."""
        history = self._history
        failing = [test for test in history.failed_tests() if history.first_pass_of(test) is None]
        if not self._varies_hash_seed or len(failing) > long_limits.MAX_FAILING_TESTS_TRIED:
            return
        for test in failing:
            for number in range(long_limits.HASH_SEEDS_OF_FAILING_TESTS):
                if history.first_pass_of(test) is None:
                    yield SingleRun(
                        order=(test,),
                        why=f"does {test} fail with another hash seed, too?",
                        setting=Setting.ALONE,
                        isolation=Isolation.SPAWN,
                        hash_seed=hash_seed_for(self._options.seed, limits.MAX_HASH_SEEDS + number),
                    )

    @property
    def has_unexplained_doubts(self) -> bool:
        """Whether a test failed in a whole order that was no evidence, and in no other run so far."""
        doubtful = self._options.doubtful
        return doubtful.of_whole_order and any(not self._history.failures_of(test) for test in doubtful.tests)

    def doubtful_alone(self) -> Iterator[Batch]:
        """Each test once that failed in runs which disturbed each other: some of them fail in every run."""
        doubtful = [test for test in self._options.doubtful.tests if not self._history.tally_after((), test).n]
        return self._runs.batches((test,) for test in doubtful)

    def slow_repeated(self) -> Iterator[Batch]:
        """Each test that was not repeated yet, twice in one process; a batch takes as long as a quick order."""
        costs, batch, seconds = self._history.costs, list[Order](), 0.0
        batch_s = long_limits.QUICK_SHARE * costs.tests_s(self._history.suite.order)
        for test in self._history.suite.tests if self._runs_alone else ():
            if self._is_not_repeated_yet(test):
                batch.append((test.id, test.id))
                seconds += costs.run_s((test.id, test.id), self._options.isolation)
                if seconds > batch_s:
                    yield self._runs.batch_of(batch)
                    batch, seconds = [], 0.0
        if batch:
            yield self._runs.batch_of(batch)

    def order_with_repeated(self, time_left_s: float) -> Iterator[SingleRun]:
        """Half of the suite's time in another order, with all tests twice that were not repeated yet.

        One run shows victims of slow polluters, non-idempotent tests and tests that depend on the hash seed; a
        process for each test that is repeated would take twice as long.
        """
        if not self._runs_alone or "idflakies" not in self._options.techniques:
            return
        due = {test.id for test in self._history.suite.tests if self._is_not_repeated_yet(test)}
        tests, share = self._runs.tests_in_orders(), max(long_limits.ORDER_SHARES)
        by_file = islice(quick_orders(self._history, tests, self._options.seed + 1, share), 2, 3)
        for order in by_file:
            twice = tuple(test for once in order for test in ((once, once) if once in due else (once,)))
            plan = self._runs.single_run(twice, "another order, some tests twice", Setting.SHUFFLED)
            plan = self._with_own_hash_seed(plan, long_limits.REPEATED_ORDER_NUMBER)
            max_s = long_limits.MAX_REPEATED_ORDER_SHARE * time_left_s * self._options.jobs
            if due and self._history.costs.plan_s(plan) <= max_s:
                yield plan

    def _is_not_repeated_yet(self, test: CollectedTest) -> bool:
        return test.repeatable and not self._history.tally(test.id, Setting.REPEATED).n

    def quick_orders(self, share: float = long_limits.QUICK_SHARE) -> Iterator[SingleRun]:
        """Other orders of the tests that take little time; for suites in which a whole run takes long."""
        if "idflakies" not in self._options.techniques:
            return
        orders = quick_orders(self._history, self._runs.tests_in_orders(), self._options.seed, share)
        shares = sorted({long_limits.QUICK_SHARE, *long_limits.ORDER_SHARES})
        for number, order in enumerate(orders):
            if self._history.runs_of(order) == 0:
                plan = self._runs.single_run(order, "another order of the quick tests", Setting.SHUFFLED)
                is_first = share == long_limits.QUICK_SHARE and number < long_limits.FIRST_QUICK_ORDERS
                hash_seed_number = len(shares) * number + shares.index(share)
                yield plan if is_first else self._with_own_hash_seed(plan, hash_seed_number)

    def _with_own_hash_seed(self, plan: SingleRun, number: int) -> SingleRun:
        """The plan with another hash seed, if the start of a new interpreter adds little to its time."""
        costs, share = self._history.costs, long_limits.MAX_START_SHARE_OF_QUICK_ORDER
        is_cheap = costs.start_s(Isolation.SPAWN) <= share * costs.tests_s(plan.order)
        if not is_cheap or not self._varies_hash_seed:
            return plan
        hash_seed = hash_seed_for(self._options.seed, 3 * limits.MAX_HASH_SEEDS + number)
        return replace(plan, isolation=Isolation.SPAWN, hash_seed=hash_seed)

    def writers_first(self) -> Iterator[SingleRun]:
        """The tests without which other orders run, then the quick tests backwards.

        The writers backwards first: one that removes what an earlier one wrote hides that one from all others.
        """
        left_out = self._options.left_out_of_orders if "idflakies" in self._options.techniques else frozenset()
        writers = tuple(test for test in self._history.suite.order if test in left_out)
        for first in dict.fromkeys((writers[::-1], writers)) if writers else ():
            order = (*first, *reversed(self._quick_tests()))
            if not self._history.runs_of(order):
                yield self._runs.single_run(order, "tests that write shared files first", Setting.SHUFFLED)

    def quick_hash_seeds(self) -> Iterator[SingleRun]:
        """The quick tests in the original order with other hash seeds."""
        quick = self._quick_tests()
        tried_seeds = {record.hash_seed for record in self._history.records if len(record.order) > 1}
        for number in range(limits.MAX_HASH_SEEDS if self._varies_hash_seed else 0):
            hash_seed = hash_seed_for(self._options.seed, 2 * limits.MAX_HASH_SEEDS + number)
            if hash_seed not in tried_seeds and len(quick) > 1:
                yield SingleRun(
                    order=quick,
                    why="the quick tests with another hash seed",
                    setting=Setting.PROBE,
                    isolation=Isolation.SPAWN,
                    hash_seed=hash_seed,
                )

    def spread_groups(self) -> Iterator[SingleRun]:
        """The quick tests in groups without their neighbours, instead of a process for each of them."""
        size = max(long_limits.MIN_GROUP_SIZE, isqrt(len(self._history.suite.tests)))
        for order in spread_groups(self._quick_tests(), size) if self._runs_alone else ():
            if self._history.runs_of(order) == 0:
                yield self._runs.single_run(order, "quick tests without those close to them", Setting.PROBE)

    def _quick_tests(self) -> Order:
        return quick_tests(self._history.costs, self._runs.tests_in_orders(), long_limits.QUICK_SHARE)
