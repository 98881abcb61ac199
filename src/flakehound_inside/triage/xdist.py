"""What pytest-xdist's controller hears of its workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.attempt import attempt_of, last_attempt, was_repeated
from flakehound_inside.triage.journal import Journal

if TYPE_CHECKING:
    from typing import Any

    import pytest

    from flakehound_inside.triage.own_errors import Guard

KEY = "flakehound"  # of what is sent in workerinput and in workeroutput


class _Desk:
    """The reports of one worker, test by test."""

    def __init__(self, worker: str) -> None:
        self.journal = Journal(worker)
        self._reports: list[pytest.TestReport] = []

    def put(self, report: pytest.TestReport) -> None:
        """One more report; a worker runs one test at a time, so another id ends the one before."""
        if self._reports and self._reports[0].nodeid != report.nodeid:
            self.close()
        self._reports.append(report)

    def close(self) -> None:
        """No more reports of the current test will come."""
        reports, self._reports = self._reports, []
        if not reports:
            return
        node_id = reports[0].nodeid
        duration_s = sum(getattr(report, "duration", 0.0) for report in reports)
        if all(report.outcome == "passed" and not hasattr(report, "wasxfail") for report in reports):
            self.journal.add(node_id, "P", duration_s)
            return
        attempt = attempt_of(last_attempt(reports))
        self.journal.add(node_id, attempt.letter, duration_s)
        # A crashed worker's test that another plugin gives to the next worker has not failed yet.
        if attempt.failed and any(report.outcome == "failed" for report in reports):
            self.journal.fail(attempt, line=_line_of(reports[0]))
        elif attempt.passed and was_repeated(reports):
            self.journal.rerun_by_others.append(node_id)


def _line_of(report: pytest.TestReport) -> int:
    line = report.location[1]
    return 0 if line is None else line + 1


class Workers:
    """The plugin of the process that pytest-xdist spreads tests from."""

    def __init__(self, guard: Guard, seed: int) -> None:
        self._guard = guard
        self._seed = seed
        self._desks: dict[str, _Desk] = {}
        self._sent: dict[str, str] = {}
        self._folder: str | None = None
        self.failed_reports = 0

    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker what all of them share."""
        with self._guard:
            node.workerinput[KEY] = {"seed": self._seed, "tally": self._tally()}

    def _tally(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="fh-tally-")
        path = os.path.join(self._folder, "failures")
        isolated_os.close(isolated_os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report at the desk of its worker; a crash comes without a worker's own facts."""
        if report.outcome == "failed" and not hasattr(report, "wasxfail"):
            self.failed_reports += 1
        if self._guard.broken:
            return
        with self._guard:
            worker = _name_of(getattr(report, "node", None))
            if worker not in self._desks:
                self._desks[worker] = _Desk(worker)
            self._desks[worker].put(report)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take what the worker sends home; one that crashed sends nothing."""
        with self._guard:
            sent = (getattr(node, "workeroutput", None) or {}).get(KEY)
            if sent is not None:
                self._sent[_name_of(node)] = sent

    def journals(self) -> list[Journal]:
        """One journal per worker, in the order in which they were first heard of."""
        for worker, desk in self._desks.items():
            desk.close()
            if worker in self._sent:
                desk.journal.take(isolated_os.loads(self._sent[worker]))
        return [desk.journal for desk in self._desks.values()]

    def pytest_unconfigure(self) -> None:
        """Remove what the workers shared."""
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)


def _name_of(node: Any) -> str:
    return str(getattr(getattr(node, "gateway", None), "id", ""))
