"""`flakehound explain`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode
from flakehound.core.failure_signatures import signature_of
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId
from flakehound.core.records import Failure


@click.command("explain", cls=CommandWithRemedies)
@store_option
@click.argument("test")
def command(store_path: Path, test: str) -> int:
    """Tell everything the last hunt knows about TEST.

    TEST is a node id as pytest prints it, or a part of one that only one test has.
    """
    from flakehound.app.sessions.stored import read_last_hunt
    from flakehound.report.hunt.one_test import explain_text

    stored = read_last_hunt(store_path)
    verdict = stored.verdict_on(test)
    click.echo(explain_text(stored.hunted, verdict, examples(stored.history, verdict.id)))
    return ExitCode.FLAKY_FOUND if verdict.kind.is_flaky else ExitCode.NOTHING_FLAKY


def examples(history: History, test: NodeId) -> list[tuple[str, Failure, str]]:
    """One failure per signature, the shortest run first."""
    found: dict[str, tuple[str, Failure, str]] = {}
    for sighting in sorted(history.failures_of(test), key=lambda s: s.place):
        failure = sighting.record.failures.get(sighting.place)
        if failure is not None:
            signature = signature_of(failure)
            found.setdefault(signature, (signature, failure, sighting.record.why))
    return list(found.values())
