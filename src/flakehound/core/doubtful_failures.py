"""Failures in runs that may have disturbed each other: no evidence, but reason to look at these tests first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.records import RunRecord

# Share of the tests that an order must have run to count as a whole one.
_MIN_WHOLE_SHARE = 0.8
_DOUBTFUL_OUTCOMES = (Outcome.FAILED, Outcome.ERROR)  # a test that ends its process would do so anyway


@dataclass(frozen=True, slots=True, kw_only=True)
class DoubtfulFailures:
    """The tests that failed, those with a failure of their own first."""

    tests: tuple[NodeId, ...] = ()
    of_whole_order: bool = False  # one of the runs was another order of nearly all tests


def doubtful_failures(reference: Sequence[RunRecord], others: Sequence[RunRecord]) -> DoubtfulFailures:
    """The tests that failed in the first run or in runs beside it."""
    look_by_test: dict[NodeId, tuple[str, str]] = {}
    for record in (*reference, *others):
        for position, test, outcome in record:
            if outcome in _DOUBTFUL_OUTCOMES:
                failure = record.failures.get(position)
                look_by_test.setdefault(test, (test.partition("::")[0], signature_of(failure) if failure else ""))
    times: Counter[tuple[str, str]] = Counter()
    rank: dict[NodeId, int] = {}
    for test, look in look_by_test.items():
        times[look] += 1
        rank[test] = times[look]
    suite_size = max((len(record.order) for record in reference), default=0)
    is_whole = any(record.executed >= _MIN_WHOLE_SHARE * suite_size for record in others)
    return DoubtfulFailures(tests=tuple(sorted(rank, key=lambda test: rank[test])), of_whole_order=is_whole)


def without_doubtful_failures(record: RunRecord) -> RunRecord:
    """The record as if the tests that failed had not run."""
    outcomes, durations_s = list(record.outcomes), list(record.durations_s)
    places = [place for place, outcome in enumerate(outcomes) if outcome in _DOUBTFUL_OUTCOMES]
    for place in places:
        outcomes[place], durations_s[place] = Outcome.NOT_RUN, 0.0
    failures = {place: failure for place, failure in record.failures.items() if place not in set(places)}
    return replace(record, outcomes=tuple(outcomes), durations_s=durations_s, failures=failures)
