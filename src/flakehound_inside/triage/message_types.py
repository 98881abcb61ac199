"""The dictionaries of a triage, as decision 0015 writes them down; for the type checker, no run imports this."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from flakehound_inside.message_types import RandomState


class Rerun(TypedDict, total=False):
    """One more run of a failed test in its own process."""

    stage: str  # "immediate", "postponed"
    outcome: str  # letter
    seed: int | None  # None: the generators were left, or put back, as `same_state` says
    message: str
    same_state: bool  # it started with the random state of the failure
    # Below: for JUnit only, not in the facts.
    exception: str
    text: str


class Failure(TypedDict):
    """One failed test."""

    id: str
    worker: str
    place: int  # in its session's order
    phase: str
    exception: str
    message: str
    where: str
    text: str
    random_state: RandomState | None
    reruns: list[Rerun]
    line: int  # where the test starts, 0: unknown; not in the facts


class SessionFacts(TypedDict):
    """What one process ran."""

    worker: str
    order: list[str]
    outcomes: str
    durations_us: list[int]


class WorkerFacts(TypedDict):
    """What a worker of pytest-xdist sends home."""

    failures: list[Failure]
    rerun_by_others: list[str]
    not_rerun: str | None
    notes: list[str]
