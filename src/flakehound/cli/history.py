"""`flakehound history`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode


@click.command("history", cls=CommandWithRemedies)
@store_option
def command(store_path: Path) -> int:
    """List the hunts, and the pytest runs with --flakehound, in the store, oldest first."""
    from flakehound.app.sessions.history import session_summaries
    from flakehound.report.hunt.sessions import history_text

    print_result(history_text(session_summaries(store_path)))
    return ExitCode.NOTHING_FLAKY
