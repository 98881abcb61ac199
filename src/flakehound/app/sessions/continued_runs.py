"""The runs of earlier hunts that count for a later one, because all of them ran the same code."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

from flakehound.app.sessions.ageing_sessions import without_ageing_failures
from flakehound.app.sessions.stored_runs import RunPurpose, StoredRuns, runs_with_purpose
from flakehound.core.records import RunRecord
from flakehound.store import SessionInfo, Store

# Tests executed in earlier runs that a hunt reads; adding one to the history takes about 5 microseconds.
MAX_EARLIER_TEST_RUNS = 500_000
_SHORT = 64  # tests; shorter runs answer questions about single tests and cost little to read


def continued_sessions(store: Store, session: SessionInfo) -> list[SessionInfo]:
    """The hunts whose runs count for this one, oldest first; those that the store no longer has are left out."""
    known = set(session.settings.continues)
    return [info for info in store.sessions() if info.uuid in known] if known else []


def runs_of_sessions(
    store: Store,
    sessions: Sequence[SessionInfo],
    max_test_runs: int = MAX_EARLIER_TEST_RUNS,
) -> StoredRuns:
    """The runs of some sessions, given oldest first; the newest runs if there are too many.

    Which runs are left out does not depend on their outcomes: that would change the rates of failures.
    """
    evidence: list[RunRecord] = []
    observations: list[RunRecord] = []
    left = max_test_runs
    for session in reversed(sessions):
        if session.id is None or left <= 0:
            continue
        window, others = _Window(max_test_runs=left), []
        for purpose, record in runs_with_purpose(store, session.id):
            if purpose is RunPurpose.EVIDENCE:
                window.add(record)
            elif purpose is not RunPurpose.TRACE:
                others.append(record)
        left -= window.test_runs
        evidence[:0] = without_ageing_failures(window.records)
        observations[:0] = others
    return StoredRuns(evidence=tuple(evidence), observations=tuple(observations))


@dataclass(slots=True, kw_only=True)
class _Window:
    """The newest of many runs; they are added one by one, because all of them may not fit into the memory."""

    max_test_runs: int
    test_runs: int = 0
    _added: int = 0
    _long: deque[tuple[int, RunRecord]] = field(default_factory=deque)
    _short: deque[tuple[int, RunRecord]] = field(default_factory=deque)

    def add(self, record: RunRecord) -> None:
        """Add a newer run and drop the oldest ones if there are too many tests; long runs go first."""
        (self._short if len(record.order) <= _SHORT else self._long).append((self._added, record))
        self._added += 1
        self.test_runs += len(record.order)
        while self.test_runs > self.max_test_runs and (self._long or self._short):
            _number, dropped = (self._long or self._short).popleft()
            self.test_runs -= len(dropped.order)

    @property
    def records(self) -> list[RunRecord]:
        """The runs that are left, in the sequence of adding."""
        return [record for _number, record in sorted([*self._long, *self._short], key=lambda run: run[0])]
