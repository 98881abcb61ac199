"""`flakehound replay`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode


@click.command("replay", cls=CommandWithRemedies)
@store_option
@click.option(
    "--times",
    type=click.IntRange(min=1),
    metavar="N",
    help="Runs to make. Default: until it fails, at most 40.",
)
@click.argument("test")
def command(store_path: Path, times: int | None, test: str) -> int:
    """Make TEST fail again: the shortest order and the seed known to do it.

    Shows the failure and, where one exists, the plain pytest command that does the same.
    Exit code 1 means that it failed again.
    """
    from flakehound.app.replay import replay_failure
    from flakehound.report.hunt.replay import replay_text

    replayed = replay_failure(store_path, test, times=times)
    print_result(replay_text(replayed.replay, replayed.runs, replayed.plain_pytest))
    return ExitCode.FLAKY_FOUND if replayed.failed else ExitCode.NOTHING_FLAKY
