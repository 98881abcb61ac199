"""A test that has failed, and what its diagnosis may use."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flakehound.core.failure_signatures import are_measured
from flakehound.core.history import History, Tally
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Isolation, Order
from flakehound.hunt import limits
from flakehound.hunt.diagnosis.questions import Questions
from flakehound.hunt.original_order import OriginalOrder


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One test that has failed at least once, the runs seen, and how far its diagnosis may go."""

    test: NodeId
    history: History
    test_order: OriginalOrder
    isolation: Isolation = Isolation.FORK
    known_polluters: Sequence[NodeId] = ()  # of other tests, the most likely first
    width: int = 2  # how many questions may be put at once
    snapshots: bool = True  # whether a process can be copied after part of its tests
    eager: bool = False  # take the test for order-dependent at its first failure; the end is confirmed anyway
    patient: bool = True  # whether to ask for the many runs that separate load from chance

    @property
    def ask(self) -> Questions:
        """The questions about its history."""
        return Questions(history=self.history, isolation=self.isolation, patient=self.patient)

    @property
    def alone(self) -> Tally:
        """Passes and failures with nothing before it."""
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
        """The original order as further runs that pass; nothing where the test fails in it."""
        original = self.in_original_order
        return Tally() if original.failed else original

    @property
    def earlier(self) -> Order:
        """The tests before it in the original order."""
        return self.test_order.earlier(self.test)

    def tests_s(self, order: Order) -> float:
        """What the tests of an order take, without the start of the process."""
        # Coarse, so that orders of about the same cost keep their sequence when sorted by it.
        return round(self.history.costs.tests_s(order), 1)

    def is_cheap(self, order: Order) -> bool:
        """Whether one run of the order costs next to nothing."""
        return self.tests_s(order) < limits.CHEAP_RUN_S

    def confirmations(self, order: Order) -> int:
        """How many runs of an order must agree."""
        return limits.CHEAP_CONFIRMATIONS if self.is_cheap(order) else limits.CONFIRMATIONS

    @property
    def is_measured(self) -> bool:
        """Whether its failures name times or other fractions, never the same: rather a rate than a rule."""
        seen = self.history.failures_of(self.test)[: limits.MEASURED_CONFIRMATIONS]
        return are_measured(s.record.failures[s.place] for s in seen if s.place in s.record.failures)

    @property
    def failed_only_beside_others(self) -> bool:
        """Whether every failure had other runs beside it."""
        return all(s.record.disturbed for s in self.history.failures_of(self.test))
