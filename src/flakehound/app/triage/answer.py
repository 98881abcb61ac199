"""Judge a failing run from its facts and write the answer for the plugin: verdicts, what to print, and notes."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

from flakehound.app.sessions.plain_runs import (
    PlainRun,
    import_pending_runs,
    past_runs,
    plain_run_record,
    save_run,
)
from flakehound.app.triage.base_suite import BaseSuite
from flakehound.app.triage.change import Change, change_of
from flakehound.app.triage.failing_run import FailingRun
from flakehound.app.triage.judge_failures import judge_failures
from flakehound.app.triage.new_processes import NewProcesses
from flakehound.app.triage.step_runner import PastRunsOf
from flakehound.core.errors import FailedStep, attempt
from flakehound.core.outcomes import NodeId
from flakehound.core.past_runs import PastRuns
from flakehound.core.records import Failure, RunRecord
from flakehound.report.triage.lines import triage_lines
from flakehound.store import Store
from flakehound.triage.verdict import TriageVerdict

SCHEMA = "flakehound/triage/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class TriageAnswer:
    """The verdicts on a failing run, and notes for its user."""

    change: Change
    verdicts: tuple[TriageVerdict, ...]
    notes: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The `flakehound/triage/1` object."""
        base = self.change.base
        return {
            "schema": SCHEMA,
            "since": base.revision if base else None,
            "since_name": base.name if base else None,
            "since_why": self.change.since_why,
            "since_doubt": self.change.base_doubt or None,
            "changed": [str(entity) for entity in self.change.entities],
            "changed_files": len(self.change.paths),
            "tolerable": bool(self.verdicts) and all(verdict.is_tolerable for verdict in self.verdicts),
            "failures": [verdict.as_json() for verdict in self.verdicts],
        }


def judge_run(run: FailingRun, show_progress: Callable[[str], None]) -> TriageAnswer:
    """Judge every failure of a run and save the run, with its reruns, in the store."""
    deadline_s = time.monotonic() + run.options.time_s
    changes: list[Change] = []
    notes = list(run.notes)
    with NewProcesses(run) as processes, _open_store(run, notes) as store:
        if run.options.forked:
            show_progress("collecting the tests again")
            # The change is read from git while pytest collects, which saves time.
            problem = processes.open(during_collection=lambda: changes.append(change_of(run)))
            if problem:
                notes.append(f"no reruns in forked processes: {problem}")
        change = changes[0] if changes else change_of(run)
        notes += change.notes
        with closing(BaseSuite(run, change, processes, deadline_s)) as base:
            verdicts = judge_failures(
                run,
                change,
                processes,
                base=base,
                look_up=_store_look_up(run, change, store),
                deadline_s=deadline_s,
                show_progress=show_progress,
            )
            notes += base.notes
        _save(store, run, change, processes, notes)
    return TriageAnswer(change=change, verdicts=tuple(verdicts), notes=tuple(notes))


def write_answer(answer: TriageAnswer, path: Path, *, json_file: Path | None) -> None:
    """Write the file that the plugin waits for, and the JSON file that the user may have asked for."""
    triage = answer.as_json()
    notes = list(answer.notes)
    if json_file is not None:
        try:
            json_file.write_text(json.dumps(triage, indent=2) + "\n", encoding="utf-8")
        except OSError as problem:  # the verdicts are not lost: they are printed
            notes.append(f"cannot write {str(json_file)!r}: {problem.strerror}")
    part = path.with_suffix(".part")
    written = {"triage": triage, "summary": triage_lines(triage), "notes": notes}
    part.write_text(json.dumps(written), encoding="utf-8")
    part.replace(path)


@contextmanager
def _open_store(run: FailingRun, notes: list[str]) -> Iterator[Store | None]:
    """The store, with pending runs imported; if it cannot be opened, None, and a note is added."""
    store = attempt(lambda: Store.open(run.options.store))
    imported = attempt(lambda: import_pending_runs(store)) if isinstance(store, Store) else store
    if isinstance(imported, FailedStep):
        notes.append(f"the store cannot be used: {imported.what}")
    if isinstance(store, FailedStep):
        yield None
        return
    with store:
        yield store


def _store_look_up(run: FailingRun, change: Change, store: Store | None) -> PastRunsOf:
    def look_up(test: NodeId, signature: str) -> PastRuns | None:
        return None if store is None else past_runs(store, run.rootdir, test, signature, commits=change.comparable)

    return look_up


def _save(store: Store | None, run: FailingRun, change: Change, processes: NewProcesses, notes: list[str]) -> None:
    if store is None:
        return
    plain_run = PlainRun(
        rootdir=run.rootdir,
        python=platform.python_version(),
        pytest=metadata.version("pytest"),
        commit=change.commit,
        branch=change.branch,
        seed=run.options.seed,
        started_s=run.started_s,
        records=(*_records_of(run), *processes.records),
    )
    saved = attempt(lambda: save_run(store, plain_run))
    if isinstance(saved, FailedStep):
        notes.append(f"the run was not stored: {saved.what}")


def _records_of(run: FailingRun) -> Iterator[RunRecord]:
    for process in run.processes:
        failures: dict[int, Failure] = {
            failed.position: failed.failure for failed in run.failures if failed.worker == process.worker
        }
        if process.order:
            yield plain_run_record(process.order, process.outcomes, process.durations_s, failures, run.started_s)
