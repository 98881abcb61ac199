"""`flakehound explain`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode


@click.command("explain", cls=CommandWithRemedies)
@store_option
@click.argument("test")
def command(store_path: Path, test: str) -> int:
    """Show everything the last hunt found out about TEST.

    TEST is a node id as pytest prints it, or a part of one that only one test has.
    """
    from flakehound.app.sessions.stored import read_last_hunt
    from flakehound.report.hunt.failures import failure_examples
    from flakehound.report.hunt.one_test import explain_text

    stored = read_last_hunt(store_path)
    verdict = stored.verdict_on(test)
    examples = failure_examples(stored.history, verdict.id)
    print_result(explain_text(stored.result, verdict, examples))
    return ExitCode.FLAKY_FOUND if verdict.kind.is_flaky else ExitCode.NOTHING_FLAKY
