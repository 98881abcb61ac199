"""Add to the verdict of a flaky test what its traces show: likely causes, and where its runs differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flakehound.calls.causes import call_difference, likely_causes
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import CallTrace
from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Kind, LikelyCause, Verdict

# Tests of other kinds are flaky because of shared state, not because of the functions that they call.
KINDS_EXPLAINED_BY_CALLS = (Kind.NOD, Kind.UNRESOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTrace:
    """What a test called in one run, and whether it failed in that run."""

    trace: CallTrace
    failed: bool


def traces_of_last_test(records: Iterable[RunRecord], test: NodeId) -> Iterator[ObservedTrace]:
    """The traces of a test in the runs that end with it."""
    for record in records:
        last = len(record.order) - 1
        if record.order[-1:] == (test,) and last in record.calls:
            yield ObservedTrace(trace=record.calls[last], failed=record.last.is_failure)


def with_likely_causes(
    verdict: Verdict, traces: Sequence[ObservedTrace], known: CharacteristicFunctions
) -> Verdict:
    """The verdict with the causes and the evidence from the traces of its test."""
    passing = next((observed.trace for observed in traces if not observed.failed), None)
    failing = next((observed.trace for observed in traces if observed.failed), None)
    difference = call_difference(passing, failing) if passing is not None and failing is not None else None
    from_calls: Sequence[LikelyCause] = ()
    if verdict.kind in KINDS_EXPLAINED_BY_CALLS:
        from_calls = likely_causes([observed.trace for observed in traces], known)
    return replace(
        verdict,
        causes=_merge_causes(verdict.causes, from_calls),
        evidence=verdict.evidence if difference is None else (*verdict.evidence, difference.text),
    )


def _merge_causes(proven: Sequence[LikelyCause], from_calls: Sequence[LikelyCause]) -> tuple[LikelyCause, ...]:
    """Causes that runs have proven, extended by the calls that suggest the same cause; then the other causes."""
    calls = {likely.cause: likely.evidence for likely in from_calls}
    extended = [
        replace(likely, evidence=f"{likely.evidence}; {calls[likely.cause]}") if likely.cause in calls else likely
        for likely in proven
    ]
    proven_causes = {likely.cause for likely in proven}
    return (*extended, *(likely for likely in from_calls if likely.cause not in proven_causes))
