"""What one process ran and what became of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from flakehound_inside.message_types import RandomState
    from flakehound_inside.triage.attempt import Attempt
    from flakehound_inside.triage.message_types import Failure, SessionFacts, WorkerFacts


class Journal:
    """Grows by one line per test; a failed test gets a page of its own."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self.order: list[str] = []
        self.letters: list[str] = []
        self.durations_s: list[float] = []
        self.failures: list[Failure] = []
        self.rerun_by_others: list[str] = []
        self.not_rerun: str | None = None
        self.notes: list[str] = []

    def add(self, node_id: str, letter: str, duration_s: float) -> None:
        """A test has ended."""
        self.order.append(node_id)
        self.letters.append(letter)
        self.durations_s.append(duration_s)

    def note(self, words: str) -> None:
        """Something the user should know, said once."""
        if words not in self.notes:
            self.notes.append(words)

    def fail(self, attempt: Attempt, random_state: RandomState | None = None, line: int = 0) -> Failure:
        """Open a page for the failure of the test that ended last."""
        failure: Failure = {
            "id": self.order[-1],
            "worker": self.worker,
            "place": len(self.order) - 1,
            "phase": attempt.phase,
            "exception": attempt.exception,
            "message": attempt.message,
            "where": attempt.where,
            "text": attempt.text,
            "random_state": random_state,
            "reruns": [],
            "line": line,
        }
        self.failures.append(failure)
        return failure

    def session_facts(self) -> SessionFacts:
        """The process as one entry of the facts."""
        return {
            "worker": self.worker,
            "order": self.order,
            "outcomes": "".join(self.letters),
            # Whole numbers: to write a float takes ten times as long, and every green run writes one per test.
            "durations_us": [int(duration_s * 1e6) for duration_s in self.durations_s],
        }

    def to_send(self) -> WorkerFacts:
        """What the controller of pytest-xdist cannot know from the reports."""
        return {
            "failures": self.failures,
            "rerun_by_others": self.rerun_by_others,
            "not_rerun": self.not_rerun,
            "notes": self.notes,
        }

    def take(self, sent: WorkerFacts) -> None:
        """Put a worker's pages in the place of what the reports told of the same tests."""
        known = {failure["id"] for failure in sent["failures"]}
        self.failures = [
            *sent["failures"],
            *(failure for failure in self.failures if failure["id"] not in known),
        ]
        self.rerun_by_others = sorted({*self.rerun_by_others, *sent["rerun_by_others"]})
        self.not_rerun = sent["not_rerun"]
        self.notes = sent["notes"]
