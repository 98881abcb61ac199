"""PAIRWISE for known victims and brittle tests: which other tests have the effect on which of them?

Two forms. *Exact* runs each other test once and each case in a copy of that process. *Chained* runs all cases
one after another behind the other test: one process instead of one per pair. What a chain shows is only a
doubt; all pairs of that test then run exactly.

A chain hides a pair when a case ahead of the victim undoes what the other test did. So the cases stand in
another sequence behind each test, and a test that has the effect on one case is tried exactly with all.
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
from flakehound.hunt.search.orders import row
from flakehound.hunt.shared_state import SharedState

WHY = "which other tests have the same effect?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A test whose outcome depends on what ran before it."""

    test: NodeId
    fails: bool  # what the tests we look for make of it: a victim fails, a brittle test passes

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
        self._read = 0  # records of the history that are in the two below
        self._chained_behind: dict[NodeId, set[NodeId]] = defaultdict(set)
        self._guilty: set[NodeId] = set()  # tests with an effect in some chain

    def exact(self) -> Iterator[RunPlan]:
        """Each other test once, then every case in a copy of that process."""
        return self._exact_for(self._others)

    def chained(self) -> Iterator[RunPlan]:
        """The cases among themselves exactly, then every other test with chains of cases; see `doubtful`."""
        yield from self._exact_for(other for other in self._others if other in self._cases)
        batch: list[Order] = []
        groups: list[list[NodeId]] | None = None
        for number, other in enumerate(self._others):
            if other in self._cases:
                continue
            groups = groups or self._harmless_groups()
            batch += self._chains(other, groups, number)
            if len(batch) >= limits.MAX_CHAINS_PER_PLAN:
                yield self._batch(batch)
                batch = []
        if batch:
            yield self._batch(batch)

    def doubtful(self) -> list[RunPlan]:
        """All pairs, exactly, of the tests that had an effect in a chain."""
        self._read_records()
        return list(self._exact_for(other for other in self._others if other in self._guilty))

    def _chains(self, other: NodeId, groups: list[list[NodeId]], number: int) -> Iterator[Order]:
        self._read_records()
        done = self._chained_behind[other]
        for group in groups:
            cases = [test for test in group if test not in done and not self._is_known(other, test)]
            if cases:
                yield (other, *row(cases, number))

    def _harmless_groups(self) -> list[list[NodeId]]:
        """The cases in as few groups as we can, none holding a case that has an effect on another."""
        groups: list[list[NodeId]] = []
        for test in self._cases:
            fitting = (group for group in groups if not self._any_effect(test, group))
            group = next(fitting, None)
            if group is None:
                groups.append([test])
            else:
                group.append(test)
        return groups

    def _any_effect(self, test: NodeId, group: list[NodeId]) -> bool:
        return any(self._has_effect(test, other) or self._has_effect(other, test) for other in group)

    def _has_effect(self, other: NodeId, test: NodeId) -> bool:
        return any(self._cases[test].shows(sighting.outcome) for sighting in self._history.after((other,), test))

    def _read_records(self) -> None:
        """Take in the chains that the history has got since we last looked."""
        new = self._history.records[self._read :]
        self._read += len(new)
        for record in new:
            if len(record.order) > 1 and all(test in self._cases for test in record.order[1:]):
                self._read_chain(record)

    def _read_chain(self, record: RunRecord) -> None:
        other = record.order[0]
        for test, outcome in zip(record.order[1:], record.outcomes[1:], strict=True):
            if outcome is not Outcome.NOT_RUN:
                self._chained_behind[other].add(test)
            if self._cases[test].shows(outcome):
                self._guilty.add(other)

    def _exact_for(self, others: Iterable[NodeId]) -> Iterator[RunPlan]:
        for other in others:
            branches = [
                (test,)
                for test in self._cases
                if not self._is_known(other, test) and self._shared_state.can_affect(other, test)
            ]
            if branches:
                yield SharedPrefix(
                    prefix=(other,),
                    continuations=tuple(branches),
                    why=WHY,
                    setting=Setting.PROBE,
                    isolation=self._isolation,
                )

    def _is_known(self, other: NodeId, test: NodeId) -> bool:
        return other == test or bool(self._history.after((other,), test))

    def _batch(self, chains: Sequence[Order]) -> Batch:
        return Batch(orders=tuple(chains), why=WHY, setting=Setting.PROBE, isolation=self._isolation)
