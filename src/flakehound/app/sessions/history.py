"""List the sessions of a store: hunts, and pytest runs with `--flakehound`."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

from flakehound.app.sessions.commands import hunt_command
from flakehound.app.sessions.plain_runs import import_pending_runs
from flakehound.app.sessions.store_file import store_with_runs
from flakehound.app.sessions.stored import no_hunt_in
from flakehound.core.plans import Setting
from flakehound.report.hunt.sessions import SessionSummary
from flakehound.store import SessionInfo, Store


def session_summaries(store_path: Path) -> list[SessionSummary]:
    """The sessions in the store, oldest first; pending runs of the plugin are imported first."""
    with store_with_runs(store_path) as store:
        import_pending_runs(store)
        summaries = [_summary(store, session) for session in store.sessions()]
    if not summaries:
        raise no_hunt_in(store_path)
    return summaries


def _summary(store: Store, session: SessionInfo) -> SessionSummary:
    return SessionSummary(
        started_s=session.started_s,
        commit=session.commit,
        folder=session.rootdir,
        found=_found(store, session),
    )


def _found(store: Store, session: SessionInfo) -> str:
    assert session.id is not None
    if not session.is_hunt:
        return _plain_run_text(store, session.id, session.settings.command.value)
    report = store.report(session.id)
    return _unfinished_text(store, session) if report is None else _kinds_text(report)


def _plain_run_text(store: Store, session_id: int, command: str) -> str:
    original = [record for record in store.records(session_id) if record.setting is Setting.ORIGINAL]
    outcomes = [outcome for record in original for outcome in record.outcomes]
    failed = sum(outcome.is_failure for outcome in outcomes)
    return f"{command}: {len(outcomes)} tests, " + (f"{failed} failed" if failed else "none failed")


def _unfinished_text(store: Store, session: SessionInfo) -> str:
    newest = store.latest_hunt(session.rootdir)
    if newest is None or newest.id != session.id:
        return "not finished"  # --resume continues the newest hunt of a folder, which is another one
    return f"not finished: {hunt_command(store.path, '--resume', folder=Path(session.rootdir))}"


def _kinds_text(report: str) -> str:
    """How many tests of each kind a stored report has."""
    tests = json.loads(report)["tests"]
    kinds = Counter(test["kind"] for test in tests if test["kind"] != "steady")
    counts = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return f"{len(tests)} tests: {counts or 'all steady'}"
