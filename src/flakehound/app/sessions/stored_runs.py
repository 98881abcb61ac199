"""The stored runs of a session by their purpose: only plain runs are evidence for verdicts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto

from flakehound.core.plans import Setting
from flakehound.core.records import RunRecord
from flakehound.store import Store


class RunPurpose(Enum):
    """What a run was made for. Tracing, measuring and comparing states may disturb a test."""

    EVIDENCE = auto()
    TRACE = auto()
    MEASUREMENT = auto()
    STATE_COMPARISON = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRuns:
    """The runs of one session, without those that were traced."""

    evidence: tuple[RunRecord, ...]
    observations: tuple[RunRecord, ...]  # runs that measured tests or compared the state before and after them


def stored_runs(store: Store, session_id: int) -> StoredRuns:
    """Read the runs of a session."""
    evidence: list[RunRecord] = []
    observations: list[RunRecord] = []
    for purpose, record in runs_with_purpose(store, session_id):
        if purpose is RunPurpose.EVIDENCE:
            evidence.append(record)
        elif purpose is not RunPurpose.TRACE:
            observations.append(record)
    return StoredRuns(evidence=tuple(evidence), observations=tuple(observations))


def runs_with_purpose(store: Store, session_id: int) -> Iterator[tuple[RunPurpose, RunRecord]]:
    """The runs of a session one after the other, each with what it was made for."""
    traced = store.traced_runs(session_id)
    for record in store.records(session_id):
        yield purpose_of(record, is_traced=record.id in traced), record


def purpose_of(record: RunRecord, *, is_traced: bool) -> RunPurpose:
    """What a stored run was made for, as far as its content shows."""
    if is_traced:
        return RunPurpose.TRACE
    if record.measures:
        return RunPurpose.MEASUREMENT
    # With `hunt --states` ordinary runs compare states as well; only the extra runs of `StateFinder` are probes.
    if record.state_traces and record.setting is Setting.PROBE:
        return RunPurpose.STATE_COMPARISON
    return RunPurpose.EVIDENCE
