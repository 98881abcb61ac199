"""The user's own pytest runs in the store: save them, import pending ones, and look up tests in them."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.core.failure_signatures import signature_of
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.past_runs import PastRuns
from flakehound.core.plans import CollectedTest, Isolation, Order, Setting, Suite
from flakehound.core.records import Failure, RunRecord
from flakehound.store import SessionCommand, SessionInfo, SessionSettings, Store

MAX_RUNS_READ = 40  # the latest ones; older runs say little about the current code
DIRTY = "-dirty"  # appended to a commit if files of the checkout differed from it
PENDING_FOLDER = "runs"  # in the folder of the store; the plugin writes its runs there


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRun:
    """One pytest run of the user with our plugin."""

    rootdir: Path
    python: str  # version
    pytest: str  # version
    commit: str | None  # with "-dirty" when files differed from it
    branch: str
    seed: int
    started_s: float
    records: tuple[RunRecord, ...]  # its processes, then the reruns


def save_run(store: Store, run: PlainRun) -> None:
    """Store a run as a session of its own."""
    info = SessionInfo(
        rootdir=str(run.rootdir),
        python=run.python,
        pytest=run.pytest,
        commit=run.commit,
        base_seed=run.seed,
        started_s=run.started_s,
        settings=SessionSettings(command=SessionCommand.PYTEST, branch=run.branch),
        isolation=Isolation.SPAWN,
    )
    order = dict.fromkeys(test for record in run.records for test in record.order)
    session = store.begin(info, Suite(tests=tuple(_collected(test) for test in order)))
    assert session.id is not None
    store.append(session.id, run.records)


def plain_run_record(
    order: Order,
    outcomes: Sequence[Outcome],
    durations_s: Sequence[float],
    failures: Mapping[int, Failure],
    started_s: float | None = None,
) -> RunRecord:
    """The record of one process of the user's own run."""
    return RunRecord(
        order=order,
        outcomes=tuple(outcomes),
        durations_s=durations_s,
        setting=Setting.ORIGINAL,
        isolation=Isolation.SPAWN,
        why="pytest as the user ran it",
        started_s=time.time() if started_s is None else started_s,
        failures=failures,
    )


def _collected(test: NodeId) -> CollectedTest:
    module = test.partition("::")[0]
    return CollectedTest(id=test, module=module, parent=test.partition("[")[0].rpartition("::")[0] or module)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Execution:
    """One execution of the test in a stored run."""

    outcome: Outcome
    signature: str  # of the failure; empty: it passed, or the failure is not known
    branch: str


def past_runs(
    store: Store, rootdir: Path, test: NodeId, signature: str, *, commits: Collection[str]
) -> PastRuns | None:
    """How a test ended in the latest runs of clean checkouts of these commits; None: it never failed there.

    The commits have to be the base and its ancestors: another commit may be an earlier version of the change,
    which was amended since.
    """
    executions = list(_executions(store, rootdir, test, commits))
    failed = [execution for execution in executions if execution.outcome.is_failure]
    if not failed:
        return None
    return PastRuns(
        failed=len(failed),
        runs=len(executions),
        branches=len({execution.branch for execution in executions}),
        same_failure=sum(execution.signature == signature for execution in failed) if signature else 0,
    )


def _executions(store: Store, rootdir: Path, test: NodeId, commits: Collection[str]) -> Iterator[_Execution]:
    for session in store.plain_runs(str(rootdir), MAX_RUNS_READ):
        if session.id is None or session.commit not in commits:
            continue
        for record in store.records(session.id):
            if record.setting is not Setting.ORIGINAL:
                continue  # a rerun of ours
            for position, executed, outcome in record:
                if executed != test or not (outcome.is_failure or outcome.is_pass):
                    continue
                failure = record.failures.get(position)
                yield _Execution(
                    outcome=outcome,
                    signature=signature_of(failure) if failure else "",
                    branch=session.settings.branch,
                )


def recent_failures(store: Store, rootdir: str) -> dict[NodeId, PastRuns]:
    """The tests that failed in the latest runs, at any commit; the most frequent first."""
    runs: Counter[NodeId] = Counter()
    failed: Counter[NodeId] = Counter()
    branches: dict[NodeId, set[str]] = {}
    for session in store.plain_runs(rootdir, MAX_RUNS_READ):
        assert session.id is not None
        for record in store.records(session.id):
            if record.setting is not Setting.ORIGINAL:
                continue
            for _position, test, outcome in record:
                runs[test] += outcome.is_failure or outcome.is_pass
                failed[test] += outcome.is_failure
                branches.setdefault(test, set()).add(session.settings.branch)
    return {
        test: PastRuns(failed=times, runs=runs[test], branches=len(branches[test]))
        for test, times in failed.most_common()
        if times
    }


def import_pending_runs(store: Store) -> int:
    """Move the runs that the plugin wrote to the pending folder into the store; returns how many there were."""
    imported = 0
    for path in sorted((store.path.parent / PENDING_FOLDER).glob("*.json")):
        try:
            run = _pending_run(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            run = None  # cut short by a killed process
        if run is not None:
            save_run(store, run)
            imported += 1
        path.unlink(missing_ok=True)
    return imported


def _pending_run(content: Mapping[str, object]) -> PlainRun:
    sessions = content["sessions"]
    assert isinstance(sessions, list)
    started_s = float(str(content["started_s"]))
    return PlainRun(
        rootdir=Path(str(content["rootdir"])),
        python=str(content["python"]),
        pytest=str(content["pytest"]),
        commit=str(content["commit"]) if content["commit"] else None,
        branch=str(content["branch"]),
        seed=int(str(content["seed"])),
        started_s=started_s,
        records=tuple(
            plain_run_record(
                tuple(NodeId(test) for test in session["order"]),
                tuple(map(Outcome, session["outcomes"])),
                [spent_us / 1e6 for spent_us in session["durations_us"]],
                {},
                started_s,
            )
            for session in sessions
            if session["order"]
        ),
    )
