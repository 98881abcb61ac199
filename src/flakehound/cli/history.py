"""`flakehound history`."""

from __future__ import annotations

import json
import time
from collections import Counter
from pathlib import Path

import click

from flakehound.cli.target import store_option
from flakehound.core.errors import ExitCode


@click.command("history", context_settings={"help_option_names": ["-h", "--help"]})
@store_option
def command(store_path: Path) -> int:
    """List the hunts in the store, oldest first."""
    from flakehound.store import Store

    with Store.open(store_path, create=False) as store:
        for session in store.sessions():
            assert session.id is not None
            when = time.strftime("%Y-%m-%d %H:%M", time.localtime(session.started_s))
            commit = (session.commit or "no git")[:12]
            click.echo(f"{when}  {commit:12}  {session.rootdir}  {found_in(store.verdicts(session.id))}")
    return ExitCode.NOTHING_FLAKY


def found_in(report: str | None) -> str:
    """The kinds a kept report counts, in a few words."""
    if report is None:
        return "not finished: flakehound hunt --resume"
    tests = json.loads(report)["tests"]
    kinds = Counter(test["kind"] for test in tests if test["kind"] != "steady")
    return f"{len(tests)} tests: " + (
        ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items())) or "all steady"
    )
