"""A test that has failed, with everything its diagnosis needs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flakehound.core.failure_signatures import have_varying_fractions
from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order
from flakehound.hunt import limits, long_limits
from flakehound.hunt.diagnosis.questions import Questions
from flakehound.hunt.group_runs import GroupRuns
from flakehound.hunt.original_order import OriginalOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One test that has failed at least once, the history, and how thorough its diagnosis is."""

    test: NodeId
    history: History
    test_order: OriginalOrder
    isolation: Isolation = Isolation.FORK
    known_polluters: Sequence[NodeId] = ()  # of other tests, the most likely first
    runs_at_once: int = 2  # how many runs of one search may go on in parallel
    runs_beside_others: bool = True  # whether other runs go on at the same time; False: not at present
    snapshots: bool = True  # whether a process can be copied after part of its tests
    trust_first_failure: bool = False  # start the search at once; its result is confirmed anyway
    examine_load: bool = True  # whether to make the many runs that tell load from chance
    examine_processes: bool = True  # whether to start the many interpreters that tell a fork from chance
    group_runs: GroupRuns | None = None  # None: polluters are searched for each suspect separately
    tests_that_run_alone: frozenset[NodeId] = frozenset()  # nothing may run beside a process with one of them

    @property
    def ask(self) -> Questions:
        """The questions about its history."""
        return Questions(history=self.history, isolation=self.isolation)

    @property
    def alone(self) -> Tally:
        """Passes and failures with no test before it."""
        return self.history.tally_after((), self.test)

    def after(self, prefix: Order) -> Tally:
        """Passes and failures right after exactly these tests."""
        return self.history.tally_after(prefix, self.test)

    @property
    def in_original_order(self) -> Tally:
        """Passes and failures in the original order."""
        return self.test_order.tally(self.test)

    @property
    def passes_in_original_order(self) -> Tally:
        """The runs in the original order if all passed; else none."""
        original = self.in_original_order
        return Tally() if original.failed else original

    @property
    def earlier(self) -> Order:
        """The tests before it in the original order."""
        return self.test_order.earlier(self.test)

    def tests_s(self, order: Order) -> float:
        """Seconds that the tests of an order take, without the start of the process."""
        # Coarse, so that orders of about the same cost keep their sequence when sorted by it.
        return round(self.history.costs.tests_s(order), 1)

    def is_cheap(self, order: Order) -> bool:
        """Whether one run of the order costs next to nothing."""
        return self.tests_s(order) < limits.CHEAP_RUN_S

    def is_long(self, order: Order) -> bool:
        """Whether the order is one of many tests in a long suite, so that suspects should share its runs."""
        costs = self.history.costs
        return (
            self.group_runs is not None
            and len(order) >= long_limits.MIN_GROUP_SIZE
            and costs.is_longer(order, long_limits.LONG_PREFIX_S)
            and costs.is_longer(self.history.suite.order, long_limits.LONG_ORDER_S)
        )

    @property
    def affordable_runs_alone(self) -> int:
        """How many runs alone are made before a long search."""
        affordable = int(long_limits.MAX_RUNS_ALONE_S / self.history.costs.run_s((self.test,), self.isolation))
        return max(limits.CLEAN_RUNS, min(long_limits.RUNS_ALONE_BEFORE_LONG_SEARCH, affordable))

    @property
    def affordable_undisturbed_runs(self) -> int:
        """How many undisturbed runs alone are made before the order in which it failed is repeated."""
        if not self.is_long(self.test_order.tests):
            return limits.UNDISTURBED_RUNS_ALONE
        affordable = int(long_limits.MAX_RUNS_ALONE_S / self.history.costs.run_s((self.test,), self.isolation))
        return max(limits.MIN_UNDISTURBED_RUNS, min(limits.MAX_UNDISTURBED_RUNS, affordable))

    @property
    def affordable_new_interpreters(self) -> int:
        """How many new interpreters show whether each process decides by itself how the test ends."""
        if not self.examine_processes:
            return limits.SAME_SEED_RUNS
        cost_s = self.history.costs.run_s((self.test,), Isolation.SPAWN)
        affordable = int(limits.MAX_NEW_INTERPRETERS_S / cost_s)
        return max(limits.SAME_SEED_RUNS, min(limits.MEASURED_NEW_INTERPRETERS, affordable))

    def confirmations(self, order: Order) -> int:
        """How many runs of an order must agree."""
        return limits.CHEAP_CONFIRMATIONS if self.is_cheap(order) else limits.CONFIRMATIONS

    @property
    def is_measured(self) -> bool:
        """Whether its failures name times or other fractions that differ each time: it may fail only sometimes."""
        failures = self.history.failures_of(self.test)[: limits.MEASURED_CONFIRMATIONS]
        return have_varying_fractions(
            s.record.failures[s.position] for s in failures if s.position in s.record.failures
        )

    @property
    def failed_only_disturbed(self) -> bool:
        """Whether every failure was in a run in parallel with others."""
        return all(s.record.disturbed for s in self.history.failures_of(self.test))
