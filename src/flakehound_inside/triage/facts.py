"""The facts of a failed run, see decision 0015; only for the type checker, no run imports this module."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypedDict

if TYPE_CHECKING:
    from flakehound_inside.message_types import RandomState


class RerunFacts(TypedDict, total=False):
    """One rerun of a failed test in the process of the failure."""

    stage: str  # "immediate", "postponed"
    outcome: str  # letter
    seed: int | None  # None: the random state was not seeded; see `same_state`
    message: str
    same_state: bool  # whether it started with the random state of the failure
    # The rest is only for JUnit, and is not sent to the controller.
    exception: str
    text: str


class FailureFacts(TypedDict):
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
    reruns: list[RerunFacts]
    line: int  # where the test starts, 0: unknown; not sent to the controller


class SessionFacts(TypedDict):
    """The tests that one process ran."""

    worker: str
    order: list[str]
    outcomes: str
    durations_us: list[int]


class WorkerFacts(TypedDict):
    """The facts that a worker of pytest-xdist sends to the process that started it."""

    failures: list[FailureFacts]
    rerun_by_others: list[str]
    not_rerun: str | None
    notes: list[str]


class OptionFacts(TypedDict):
    """The options that concern the controller."""

    forked: int
    since: str | None
    intersect: bool
    check_base: bool
    time_s: float  # for the verdicts on all failures
    json: str | None
    store: str | None
    seed: int


class RedRunFacts(TypedDict):
    """The whole failed run: `flakehound/triage-facts/1`."""

    schema: str
    rootdir: str
    cwd: str
    python: str
    args: list[str]
    options: OptionFacts
    tests: int
    sessions: list[SessionFacts]
    failures: list[dict[str, object]]  # `FailureFacts` without the keys that are not sent
    not_rerun: str | None
    rerun_by_others: list[str]
    notes: list[str]
