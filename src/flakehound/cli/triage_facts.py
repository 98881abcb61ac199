"""`flakehound triage-facts`: what `pytest --flakehound` starts after a red run. Not for people."""

from __future__ import annotations

import json
import platform
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flakehound.app.sessions.places import DEFAULT_STORE
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode, FailedStep, attempted

if TYPE_CHECKING:
    from flakehound.app.sessions.plain_runs import Remembered
    from flakehound.app.triage.change import Change
    from flakehound.app.triage.failing_run import FailingRun
    from flakehound.app.triage.new_processes import NewProcesses
    from flakehound.core.outcomes import NodeId
    from flakehound.core.records import Failure, RunRecord
    from flakehound.store import Store
    from flakehound.triage.verdict import TriageVerdict

SCHEMA = "flakehound/triage/1"


@click.command(
    "triage-facts", hidden=True, cls=CommandWithRemedies, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.argument("facts_file", metavar="FACTS", type=click.Path(path_type=Path))
@click.argument("answer_file", metavar="ANSWER", type=click.Path(path_type=Path))
def command(facts_file: Path, answer_file: Path) -> int:
    """Judge the failures of a pytest run.

    `pytest --flakehound` calls this; docs/decisions/0015 describes both files.
    """
    from flakehound.app.triage.change import change_of
    from flakehound.app.triage.failing_run import read_facts
    from flakehound.app.triage.new_processes import NewProcesses

    run = read_facts(facts_file)
    changes: list[Change] = []
    notes = list(run.notes)
    with NewProcesses(run) as processes, _store(run, notes) as store:
        problem = ""
        if _needs_forks(run):
            problem = processes.open(meanwhile=lambda: changes.append(change_of(run)))
        change = changes[0] if changes else change_of(run)
        if problem:
            notes.append(f"no reruns in forked processes: {problem}")
        notes += change.notes
        verdicts = _judged(run, change, processes, store)
        told = _triage(change, verdicts)
        _keep(store, run, change, processes, notes)
    if run.wishes.json_file is not None:
        _write_json(run.wishes.json_file, told, notes)
    _answer(answer_file, told, notes)
    return ExitCode.NOTHING_FLAKY


def _needs_forks(run: FailingRun) -> bool:
    return run.wishes.forked > 1 and not run.not_rerun and any(not failed.passed for failed in run.failures)


def _judged(run: FailingRun, change: Change, processes: NewProcesses, store: Store | None) -> list[TriageVerdict]:
    from flakehound.app.triage.judge_failures import Triage

    triage = Triage(run, change, processes, remember=_memory(run, change, store), tell=_tell)
    with closing(triage):
        return [triage.verdict_on(failed) for failed in run.failures]


def _tell(words: str) -> None:
    click.echo(words, err=True)


def _memory(run: FailingRun, change: Change, store: Store | None) -> Callable[[NodeId, str], Remembered | None]:
    from flakehound.app.sessions.plain_runs import remembered

    def remember(test: NodeId, signature: str) -> Remembered | None:
        if store is None:
            return None
        return remembered(
            store,
            run.rootdir,
            test,
            signature,
            base=change.base.revision if change.base else None,
            of_the_change=change.commits,
        )

    return remember


@contextmanager
def _store(run: FailingRun, notes: list[str]) -> Iterator[Store | None]:
    """The store, with the runs since the last time in it; None, and a note, where there can be none."""
    from flakehound.app.sessions.plain_runs import drained
    from flakehound.store import Store

    path = run.wishes.store or run.rootdir / DEFAULT_STORE
    store = attempted(lambda: Store.open(path))
    taken_in = attempted(lambda: drained(store)) if isinstance(store, Store) else store
    if isinstance(taken_in, FailedStep):
        notes.append(f"nothing is remembered: {taken_in.what}")
    if isinstance(store, FailedStep):
        yield None
        return
    with store:
        yield store


def _keep(store: Store | None, run: FailingRun, change: Change, processes: NewProcesses, notes: list[str]) -> None:
    from flakehound.app.sessions.plain_runs import PlainRun, kept

    if store is None:
        return
    own = PlainRun(
        rootdir=run.rootdir,
        python=platform.python_version(),
        pytest=metadata.version("pytest"),
        commit=change.commit,
        branch=change.branch,
        seed=run.wishes.seed,
        started_s=run.started_s,
        records=(*_processes_of(run), *processes.records),
    )
    done = attempted(lambda: kept(store, own))
    if isinstance(done, FailedStep):
        notes.append(f"the run is not remembered: {done.what}")


def _processes_of(run: FailingRun) -> Iterator[RunRecord]:
    from flakehound.app.sessions.plain_runs import whole_run

    for process in run.processes:
        failures: dict[int, Failure] = {
            failed.place: failed.failure for failed in run.failures if failed.worker == process.worker
        }
        if process.order:
            yield whole_run(process.order, process.outcomes, process.durations_s, failures, run.started_s)


def _triage(change: Change, verdicts: list[TriageVerdict]) -> dict[str, Any]:
    from flakehound.triage.verdict import is_tolerable

    return {
        "schema": SCHEMA,
        "since": change.base.revision if change.base else None,
        "since_name": change.base.name if change.base else None,
        "since_why": change.base.why if change.base else change.problem,
        "changed": [str(entity) for entity in change.entities],
        "tolerable": bool(verdicts) and all(is_tolerable(verdict) for verdict in verdicts),
        "failures": [verdict.as_json() for verdict in verdicts],
    }


def _write_json(path: Path, triage: dict[str, Any], notes: list[str]) -> None:
    try:
        path.write_text(json.dumps(triage, indent=2) + "\n", encoding="utf-8")
    except OSError as problem:  # the verdicts are not lost: they are printed
        notes.append(f"cannot write {str(path)!r}: {problem.strerror}")


def _answer(answer_file: Path, triage: dict[str, Any], notes: list[str]) -> None:
    from flakehound.report.triage.lines import triage_lines

    answer = {"triage": triage, "summary": triage_lines(triage), "notes": notes}
    part = answer_file.with_suffix(".part")
    part.write_text(json.dumps(answer), encoding="utf-8")
    part.replace(answer_file)
