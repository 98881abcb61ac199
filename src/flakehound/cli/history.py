"""`flakehound history`."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flakehound.app.sessions.commands import hunt_command
from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode
from flakehound.core.plans import Setting

if TYPE_CHECKING:
    from flakehound.store import SessionInfo, Store


@click.command("history", cls=CommandWithRemedies)
@store_option
def command(store_path: Path) -> int:
    """List the hunts, and the pytest runs with --flakehound, in the store, oldest first."""
    from flakehound.app.sessions.plain_runs import import_pending_runs
    from flakehound.app.sessions.store_file import store_with_runs
    from flakehound.app.sessions.stored import no_hunt_in

    with store_with_runs(store_path) as store:
        import_pending_runs(store)
        lines = [_line(store, session) for session in store.sessions()]
    if not lines:
        raise no_hunt_in(store_path)
    click.echo("\n".join(lines))
    return ExitCode.NOTHING_FLAKY


def _line(store: Store, session: SessionInfo) -> str:
    assert session.id is not None
    when = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.started_s))
    commit = (session.commit or "no git")[:12]
    report = store.verdicts(session.id)
    if not session.is_hunt:
        found = _plain_run(store, session.id, session.settings.command.value)
    else:
        found = _not_finished(store, session) if report is None else found_in(report)
    return f"{when}  {commit:12}  {session.rootdir}  {found}"


def _plain_run(store: Store, session_id: int, command: str) -> str:
    whole = [record for record in store.records(session_id) if record.setting is Setting.ORIGINAL]
    outcomes = [outcome for record in whole for outcome in record.outcomes]
    failed = sum(outcome.is_failure for outcome in outcomes)
    return f"{command}: {len(outcomes)} tests, " + (f"{failed} failed" if failed else "none failed")


def _not_finished(store: Store, session: SessionInfo) -> str:
    newest = store.latest(session.rootdir)
    if newest is None or newest.id != session.id:
        return "not finished"  # --resume would go on with the newest of its folder
    return f"not finished: {hunt_command(store.path, '--resume', folder=Path(session.rootdir))}"


def found_in(report: str) -> str:
    """The kinds a kept report counts, in a few words."""
    tests = json.loads(report)["tests"]
    kinds = Counter(test["kind"] for test in tests if test["kind"] != "steady")
    return f"{len(tests)} tests: " + (
        ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "all steady"
    )
