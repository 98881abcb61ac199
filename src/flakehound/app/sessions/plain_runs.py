"""Plain pytest runs in the store: keep one, and tell what earlier ones saw of a test."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Order, Setting, Suite
from flakehound.core.records import Failure, RunRecord
from flakehound.store import SessionCommand, SessionInfo, SessionSettings, Store
from flakehound.triage.evidence import PastRuns

LATEST = 40  # runs that are looked at
DIRTY = "-dirty"
SPOOL = "runs"  # where the plugin leaves runs, beside the store


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRun:
    """One pytest run that was looked on at."""

    rootdir: Path
    python: str  # version
    pytest: str  # version
    commit: str | None  # with "-dirty" when files differed from it
    branch: str
    seed: int
    started_s: float
    records: tuple[RunRecord, ...]  # its processes, then the reruns


def save_run(store: Store, run: PlainRun) -> None:
    """Write a run down."""
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


def whole_run(
    order: Order,
    outcomes: Sequence[Outcome],
    durations_s: Sequence[float],
    failures: Mapping[int, Failure],
    started_s: float | None = None,
) -> RunRecord:
    """One process of the user's own run."""
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
class Remembered:
    """What the store knows of one test from runs without the change."""

    past: PastRuns | None
    at_base: Tally  # among other tests, in clean checkouts of the base
    alone_at_base: Tally


def remembered(
    store: Store, rootdir: Path, test: NodeId, signature: str, *, base: str | None, of_the_change: Collection[str]
) -> Remembered:
    """What the latest runs saw of a test; commits `of_the_change`, and unclean checkouts, are left out."""
    sightings: list[tuple[Outcome, str, str]] = []  # outcome, signature, branch
    among = alone = Tally()
    for session in store.plain_runs(str(rootdir), LATEST):
        if session.id is None or not _is_innocent(session, of_the_change):
            continue
        for record in store.records(session.id):
            for place, ran, outcome in record:
                if ran != test or not (outcome.is_failure or outcome.is_pass):
                    continue
                if record.setting is Setting.ORIGINAL:
                    told = record.failures.get(place)
                    branch = session.settings.branch
                    sightings.append((outcome, signature_of(told) if told else "", branch))
                if session.commit == base and place == 0:
                    alone += _one(outcome)
                elif session.commit == base and record.setting is Setting.ORIGINAL:
                    among += _one(outcome)
    return Remembered(past=_past(sightings, signature), at_base=among, alone_at_base=alone)


def failed_lately(store: Store, rootdir: str) -> dict[NodeId, PastRuns]:
    """The tests that failed in the latest runs, whatever the code was then; most frequent first."""
    runs: Counter[NodeId] = Counter()
    failed: Counter[NodeId] = Counter()
    branches: dict[NodeId, set[str]] = {}
    for session in store.plain_runs(rootdir, LATEST):
        assert session.id is not None
        for record in store.records(session.id):
            if record.setting is not Setting.ORIGINAL:
                continue
            for _place, test, outcome in record:
                runs[test] += outcome.is_failure or outcome.is_pass
                failed[test] += outcome.is_failure
                branches.setdefault(test, set()).add(session.settings.branch)
    return {
        test: PastRuns(failed=times, runs=runs[test], branches=len(branches[test]))
        for test, times in failed.most_common()
        if times
    }


def _is_innocent(session: SessionInfo, of_the_change: Collection[str]) -> bool:
    commit = session.commit
    return commit is not None and not commit.endswith(DIRTY) and commit not in of_the_change


def _one(outcome: Outcome) -> Tally:
    return Tally(n=1, failed=int(outcome.is_failure))


def _past(sightings: Sequence[tuple[Outcome, str, str]], signature: str) -> PastRuns | None:
    failed = [(told, branch) for outcome, told, branch in sightings if outcome.is_failure]
    if not failed:
        return None
    return PastRuns(
        failed=len(failed),
        runs=len(sightings),
        branches=len({branch for _outcome, _told, branch in sightings}),
        same_failure=sum(told == signature for told, _branch in failed) if signature else 0,
    )


def import_pending_runs(store: Store) -> int:
    """Move the runs that the plugin left beside the store into it; how many there were."""
    found = 0
    for path in sorted((store.path.parent / SPOOL).glob("*.json")):
        try:
            run = _spooled(json.loads(path.read_text(encoding="utf-8")))
        except (ValueError, KeyError, TypeError):
            run = None  # cut short by a killed process: it tells nothing
        if run is not None:
            save_run(store, run)
            found += 1
        path.unlink(missing_ok=True)
    return found


def _spooled(written: Mapping[str, object]) -> PlainRun:
    sessions = written["sessions"]
    assert isinstance(sessions, list)
    started_s = float(str(written["started_s"]))
    return PlainRun(
        rootdir=Path(str(written["rootdir"])),
        python=str(written["python"]),
        pytest=str(written["pytest"]),
        commit=str(written["commit"]) if written["commit"] else None,
        branch=str(written["branch"]),
        seed=int(str(written["seed"])),
        started_s=started_s,
        records=tuple(
            whole_run(
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
