"""What traces of a flaky test add to its verdict: likely causes, and where passing and failing runs differ."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from flakehound.calls.causes import call_difference, likely_causes
from flakehound.calls.characteristic_functions import CharacteristicFunctions
from flakehound.core.calls import CallTrace
from flakehound.core.outcomes import NodeId
from flakehound.core.records import RunRecord
from flakehound.core.verdicts import Kind, LikelyCause, Verdict

# Tests of other kinds are flaky because of shared state, whatever they call.
KINDS_EXPLAINED_BY_CALLS = (Kind.NOD, Kind.UNRESOLVED)


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservedTrace:
    """What a test called in one run, and whether it failed there."""

    trace: CallTrace
    failed: bool


def traces_of_last_test(records: Iterable[RunRecord], test: NodeId) -> Iterator[ObservedTrace]:
    """What a test called in the runs that end with it."""
    for record in records:
        place = len(record.order) - 1
        if record.order[-1:] == (test,) and place in record.calls:
            yield ObservedTrace(trace=record.calls[place], failed=record.last.is_failure)


def with_likely_causes(
    verdict: Verdict, traces: Sequence[ObservedTrace], known: CharacteristicFunctions
) -> Verdict:
    """The verdict with what the traces of its test add."""
    passing = next((one.trace for one in traces if not one.failed), None)
    failing = next((one.trace for one in traces if one.failed), None)
    difference = call_difference(passing, failing) if passing is not None and failing is not None else None
    called: Sequence[LikelyCause] = ()
    if verdict.kind in KINDS_EXPLAINED_BY_CALLS:
        called = likely_causes([one.trace for one in traces], known)
    return replace(
        verdict,
        causes=_joined(verdict.causes, called),
        evidence=verdict.evidence if difference is None else (*verdict.evidence, difference.text),
    )


def _joined(proven: Sequence[LikelyCause], called: Sequence[LikelyCause]) -> tuple[LikelyCause, ...]:
    """Causes that runs have proven first, with the lines that calls name for the same cause."""
    lines = {likely.cause: likely.evidence for likely in called}
    joined = [
        replace(likely, evidence=f"{likely.evidence}; {lines[likely.cause]}") if likely.cause in lines else likely
        for likely in proven
    ]
    known = {likely.cause for likely in proven}
    return (*joined, *(likely for likely in called if likely.cause not in known))
