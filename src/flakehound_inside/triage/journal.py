"""The journal of one process: its tests in their order, their outcomes, and the failures with their reruns."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Sequence

    import pytest

    from flakehound_inside.message_types import RandomState
    from flakehound_inside.triage.facts import FailureFacts, SessionFacts, WorkerFacts

# The outcomes that pytest-rerunfailures and pytest-retry give to an attempt that they repeat.
_REPEATED_OUTCOMES = ("rerun", "retried")
_PHASES = ("setup", "call", "teardown")
_CRASH = "???"  # the phase that pytest-xdist gives to a test whose worker died
_PASSING = ("P", "x", "X")


class Attempt:
    """How one run of a test ended, with the message of its first failure."""

    def __init__(self, letter: str, failure: dict[str, str] | None = None) -> None:
        failure = failure or {}
        self.letter = letter
        self.phase = failure.get("phase", "call") if failure.get("phase") in _PHASES else "call"
        self.exception = failure.get("exception", "")
        self.message = failure.get("message", "")
        self.where = failure.get("where", "")
        self.text = failure.get("text", "")
        self.failed_in_teardown = False

    @property
    def failed(self) -> bool:
        """Whether any phase failed."""
        return self.letter in ("F", "E", "C")

    @property
    def passed(self) -> bool:
        """Whether it ended as its author expects; a skipped test has neither passed nor failed."""
        return self.letter in _PASSING


class _Lines(list):  # type: ignore[type-arg]  # no subscript at run time in Python 3.8
    """An event log in memory."""

    write = list.append


def attempt_of(reports: Sequence[pytest.TestReport]) -> Attempt:
    """The attempt that pytest's reports describe."""
    # Imported here, because a passing run does not need them.
    from flakehound_inside.isolated_os import isolated_os
    from flakehound_inside.recorder import Recorder

    lines = _Lines()
    recorder = Recorder(lines)  # type: ignore[arg-type]  # it only writes lines
    recorder.start(0)
    for report in reports:
        recorder.pytest_runtest_logreport(report)
    recorder.end()
    failures = [isolated_os.loads(line.split(" ", 2)[2]) for line in lines if line[0] == "f"]
    letter = lines[-1].split()[2]
    if any(report.when == _CRASH for report in reports):
        letter = "C"
    attempt = Attempt(letter, failures[-1] if failures else None)
    attempt.failed_in_teardown = any(r.when == "teardown" and r.outcome == "failed" for r in reports)
    return attempt


def last_attempt(reports: Sequence[pytest.TestReport]) -> list[pytest.TestReport]:
    """The reports after the last attempt that another plugin has repeated; all reports if there is none."""
    start = 0
    for place, report in enumerate(reports, 1):
        if report.outcome in _REPEATED_OUTCOMES and report.when != _CRASH:
            start = place
    return list(reports[start:])


def was_repeated(reports: Sequence[pytest.TestReport]) -> bool:
    """Whether another plugin has run the test again."""
    return any(report.outcome in _REPEATED_OUTCOMES for report in reports)


class SessionJournal:
    """Has one entry per test, and a detailed entry in addition for each failed test."""

    def __init__(self, worker: str = "") -> None:
        self.worker = worker
        self.order: list[str] = []
        self.letters: list[str] = []
        self.durations_s: list[float] = []
        self.failures: list[FailureFacts] = []
        self.rerun_by_others: list[str] = []
        self.not_rerun: str | None = None
        self.notes: list[str] = []

    def add(self, node_id: str, letter: str, duration_s: float) -> None:
        """Add a test that has ended."""
        self.order.append(node_id)
        self.letters.append(letter)
        self.durations_s.append(duration_s)

    def note(self, text: str) -> None:
        """Add something that the user should know, unless it is there already."""
        if text not in self.notes:
            self.notes.append(text)

    def add_failure(
        self, attempt: Attempt, random_state: RandomState | None = None, line: int = 0
    ) -> FailureFacts:
        """Add the failure of the test that ended last."""
        failure: FailureFacts = {
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
        """The entry of this process in the facts."""
        return {
            "worker": self.worker,
            "order": self.order,
            "outcomes": "".join(self.letters),
            # Integers, because writing a float takes ten times as long, and every run writes one per test.
            "durations_us": [int(duration_s * 1e6) for duration_s in self.durations_s],
        }

    def worker_facts(self) -> WorkerFacts:
        """The facts that the controller of pytest-xdist cannot get from the reports."""
        return {
            "failures": self.failures,
            "rerun_by_others": self.rerun_by_others,
            "not_rerun": self.not_rerun,
            "notes": self.notes,
        }

    def merge(self, worker_facts: WorkerFacts) -> None:
        """Replace what the reports say about failed tests by the facts that their worker sent."""
        reported_ids = {failure["id"] for failure in worker_facts["failures"]}
        self.failures = [
            *worker_facts["failures"],
            *(failure for failure in self.failures if failure["id"] not in reported_ids),
        ]
        self.rerun_by_others = sorted({*self.rerun_by_others, *worker_facts["rerun_by_others"]})
        self.not_rerun = worker_facts["not_rerun"]
        self.notes = worker_facts["notes"]
