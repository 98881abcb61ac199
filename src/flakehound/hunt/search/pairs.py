"""PAIRWISE for known victims and brittle tests: which other tests have the effect on which of them?

Two forms. *Exact* runs each other test once and each case in a copy of that process. *Chained* runs all cases
one after another, after the other test: one process instead of one per pair. An effect in a chain is only a hint;
all pairs of that test then run exactly.

A chain hides a pair if a case before the victim undoes what the other test did. So the cases have another sequence
after each test, and a test that has the effect on one case is tried exactly with all.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Batch, Isolation, Order, RunPlan, Setting, SharedPrefix
from flakehound.core.records import RunRecord
from flakehound.hunt import limits
from flakehound.hunt.search.orders import square_row
from flakehound.hunt.shared_state import SharedState

_WHY = "which other tests have the same effect?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test whose outcome depends on what ran before it."""

    test: NodeId
    fails: bool  # the effect of the tests that we look for: a victim fails, a brittle test passes

    def shows(self, outcome: Outcome) -> bool:
        """Whether the outcome is the effect."""
        return outcome.is_failure if self.fails else outcome.is_pass


class Pairs:
    """The pairs of every other test with every case."""

    def __init__(self, history: History, cases: Sequence[Case], others: Order, isolation: Isolation) -> None:
        self._history = history
        self._cases = {case.test: case for case in cases}
        self._others = others
        self._isolation = isolation
        self._shared_state = SharedState(history)
        self._records_read = 0  # how many records of the history are in the next two
        self._cases_chained_after: dict[NodeId, set[NodeId]] = defaultdict(set)
        self._tests_with_effect: set[NodeId] = set()  # on some case in a chain

    def exact_plans(self) -> Iterator[RunPlan]:
        """Each other test once, then every case in a copy of that process."""
        return self._exact_plans_for(self._others)

    def chained_plans(self) -> Iterator[RunPlan]:
        """Pairs of two cases exactly, then every other test before chains of cases; see `pairs_to_verify`."""
        yield from self._exact_plans_for(other for other in self._others if other in self._cases)
        batch: list[Order] = []
        groups: list[list[NodeId]] | None = None
        for number, other in enumerate(self._others):
            if other in self._cases:
                continue
            groups = groups or self._independent_groups()
            batch += self._chains(other, groups, number)
            if len(batch) >= limits.MAX_CHAINS_PER_PLAN:
                yield self._batch(batch)
                batch = []
        if batch:
            yield self._batch(batch)

    def pairs_to_verify(self) -> list[RunPlan]:
        """The exact runs of all pairs of the tests that had an effect in a chain."""
        self._read_records()
        return list(self._exact_plans_for(other for other in self._others if other in self._tests_with_effect))

    def _chains(self, other: NodeId, groups: list[list[NodeId]], number: int) -> Iterator[Order]:
        self._read_records()
        chained_tests = self._cases_chained_after[other]
        for group in groups:
            cases = [test for test in group if test not in chained_tests and not self._is_known(other, test)]
            if cases:
                yield (other, *square_row(cases, number))

    def _independent_groups(self) -> list[list[NodeId]]:
        """The cases in few groups, such that no case has an effect on another case of its group."""
        groups: list[list[NodeId]] = []
        for test in self._cases:
            independent = (group for group in groups if not self._is_dependent(test, group))
            group = next(independent, None)
            if group is None:
                groups.append([test])
            else:
                group.append(test)
        return groups

    def _is_dependent(self, test: NodeId, group: list[NodeId]) -> bool:
        return any(self._has_effect(test, other) or self._has_effect(other, test) for other in group)

    def _has_effect(self, other: NodeId, test: NodeId) -> bool:
        return any(
            self._cases[test].shows(execution.outcome)
            for execution in self._history.executions_after((other,), test)
        )

    def _read_records(self) -> None:
        """Read the chains among the new records of the history."""
        new_records = self._history.records[self._records_read :]
        self._records_read += len(new_records)
        for record in new_records:
            if len(record.order) > 1 and all(test in self._cases for test in record.order[1:]):
                self._read_chain(record)

    def _read_chain(self, record: RunRecord) -> None:
        other = record.order[0]
        for test, outcome in zip(record.order[1:], record.outcomes[1:], strict=True):
            if outcome is not Outcome.NOT_RUN:
                self._cases_chained_after[other].add(test)
            if self._cases[test].shows(outcome):
                self._tests_with_effect.add(other)

    def _exact_plans_for(self, others: Iterable[NodeId]) -> Iterator[RunPlan]:
        for other in others:
            continuations = [
                (test,)
                for test in self._cases
                if not self._is_known(other, test) and self._shared_state.can_affect(other, test)
            ]
            if continuations:
                yield SharedPrefix(
                    prefix=(other,),
                    continuations=tuple(continuations),
                    why=_WHY,
                    setting=Setting.PROBE,
                    isolation=self._isolation,
                )

    def _is_known(self, other: NodeId, test: NodeId) -> bool:
        return other == test or bool(self._history.executions_after((other,), test))

    def _batch(self, chains: Sequence[Order]) -> Batch:
        return Batch(orders=tuple(chains), why=_WHY, setting=Setting.PROBE, isolation=self._isolation)
