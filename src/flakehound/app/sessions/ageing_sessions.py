"""Leave out failures that probably only the age of a session has caused.

A test may compare the time with one that its module computed when it was imported. Then forks of a session
fail once the session is old enough, and a plain pytest run never does. Within one hunt the diagnosis notices that
no fork passes after the first that failed. The forks of the next hunt are young and pass again: without this, the
test would seem to pass and fail in the same order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Order
from flakehound.core.records import RunRecord


@dataclass(slots=True)
class _Executions:
    """The executions of one test in the forks of one session."""

    first_failure_s: float = float("inf")
    last_pass_s: float = float("-inf")
    failed_after: set[Order] = field(default_factory=set)  # prefixes
    passed_after: set[Order] = field(default_factory=set)

    @property
    def look_ageing(self) -> bool:
        """Whether it passed and failed after the same tests, and never passed again once it had failed."""
        return self.last_pass_s <= self.first_failure_s and not self.failed_after.isdisjoint(self.passed_after)


def without_ageing_failures(records: Sequence[RunRecord]) -> list[RunRecord]:
    """The runs of one session; executions that its age may have made fail count as not run."""
    failed = {record.order[place] for record in records for place in record.failures}
    failed_anew = {
        record.order[place]
        for record in records
        if record.isolation is Isolation.SPAWN
        for place in record.failures
    }
    executions = _executions(records, failed - failed_anew)
    ageing = {test for test, found in executions.items() if found.look_ageing}
    return [_without_failures(record, ageing) for record in records] if ageing else list(records)


def _executions(records: Sequence[RunRecord], tests: set[NodeId]) -> dict[NodeId, _Executions]:
    executions: dict[NodeId, _Executions] = defaultdict(_Executions)
    for record in records if tests else ():
        if record.isolation is not Isolation.FORK or tests.isdisjoint(record.order):
            continue
        for place, test, outcome in record:
            if test in tests:
                _add(executions[test], record, place, outcome)
    return executions


def _add(found: _Executions, record: RunRecord, place: int, outcome: Outcome) -> None:
    if outcome.is_failure:
        found.first_failure_s = min(found.first_failure_s, record.started_s)
        found.failed_after.add(record.order[:place])
    elif outcome.is_pass:
        found.last_pass_s = max(found.last_pass_s, record.started_s)
        found.passed_after.add(record.order[:place])


def _without_failures(record: RunRecord, tests: Collection[NodeId]) -> RunRecord:
    places = {place for place in record.failures if record.order[place] in tests}
    if not places or record.isolation is not Isolation.FORK:
        return record
    outcomes = (Outcome.NOT_RUN if place in places else found for place, found in enumerate(record.outcomes))
    failures = {place: failure for place, failure in record.failures.items() if place not in places}
    return replace(record, outcomes=tuple(outcomes), failures=failures)
