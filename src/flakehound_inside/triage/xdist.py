"""The reports and facts that the controller of pytest-xdist gets from its workers."""

from __future__ import annotations

import os
import shutil
import tempfile
from typing import TYPE_CHECKING

import pytest

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.triage.journal import SessionJournal, attempt_of, last_attempt, was_repeated

if TYPE_CHECKING:
    from typing import Any

    from flakehound_inside.triage.own_errors import OwnErrors

_KEY = "flakehound"  # of our values in workerinput and workeroutput


class _WorkerReports:
    """The reports of one worker, test by test."""

    def __init__(self, worker: str) -> None:
        self.journal = SessionJournal(worker)
        self._reports: list[pytest.TestReport] = []

    def add(self, report: pytest.TestReport) -> None:
        """Add a report; a worker runs one test at a time, so another id ends the one before."""
        if self._reports and self._reports[0].nodeid != report.nodeid:
            self.end_test()
        self._reports.append(report)

    def end_test(self) -> None:
        """Called when no more reports of the current test will come."""
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
        # If another plugin gives the test of a crashed worker to the next worker, it has not failed yet.
        if attempt.failed and any(report.outcome == "failed" for report in reports):
            self.journal.add_failure(attempt, line=_line_of(reports[0]))
        elif attempt.passed and was_repeated(reports):
            self.journal.rerun_by_others.append(node_id)


def _line_of(report: pytest.TestReport) -> int:
    line = report.location[1]
    return 0 if line is None else line + 1


class XdistWorkers:
    """The plugin for the process that distributes the tests with pytest-xdist."""

    def __init__(self, own_errors: OwnErrors, seed: int) -> None:
        self._own_errors = own_errors
        self._seed = seed
        self._reports: dict[str, _WorkerReports] = {}
        self._facts_by_worker: dict[str, str] = {}
        self._folder: str | None = None
        self.failed_reports = 0

    def pytest_configure_node(self, node: Any) -> None:
        """Send a worker the values that all workers share."""
        with self._own_errors:
            node.workerinput[_KEY] = {"seed": self._seed, "tally": self._shared_file()}

    def _shared_file(self) -> str:
        if self._folder is None:
            self._folder = tempfile.mkdtemp(prefix="fh-%d-tally-" % isolated_os.getpid())
        path = os.path.join(self._folder, "failures")
        isolated_os.close(isolated_os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        return path

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Add the report to those of its worker; after a crash there are no facts of the worker."""
        if report.outcome == "failed" and not hasattr(report, "wasxfail"):
            self.failed_reports += 1
        if self._own_errors.occurred:
            return
        with self._own_errors:
            worker = _name_of(getattr(report, "node", None))
            if worker not in self._reports:
                self._reports[worker] = _WorkerReports(worker)
            self._reports[worker].add(report)

    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Store the facts that the worker sends at its end; a crashed worker sends none."""
        with self._own_errors:
            facts = (getattr(node, "workeroutput", None) or {}).get(_KEY)
            if facts is not None:
                self._facts_by_worker[_name_of(node)] = facts

    def journals(self) -> list[SessionJournal]:
        """One journal per worker, in the order of their first reports."""
        for worker, reports in self._reports.items():
            reports.end_test()
            if worker in self._facts_by_worker:
                reports.journal.merge(isolated_os.loads(self._facts_by_worker[worker]))
        return [reports.journal for reports in self._reports.values()]

    @pytest.hookimpl(trylast=True)
    def pytest_sessionfinish(self) -> None:
        """Remove the file that the workers shared, before the triage, which may take a minute and be ended."""
        self._remove_folder()

    def pytest_unconfigure(self) -> None:
        """Remove the file also after a session that did not finish."""
        self._remove_folder()

    def _remove_folder(self) -> None:
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None


def _name_of(node: Any) -> str:
    return str(getattr(getattr(node, "gateway", None), "id", ""))
