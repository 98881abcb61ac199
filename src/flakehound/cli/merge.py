"""`flakehound merge`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode


@click.command("merge", cls=CommandWithRemedies)
@store_option
@click.argument("other", type=click.Path(path_type=Path))
def command(store_path: Path, other: Path) -> int:
    """Copy the hunts of the store OTHER, from another machine or CI job, into this one.

    Merging twice adds nothing; OTHER stays as it is.
    """
    from flakehound.app.sessions.store_file import check_merge_source, check_store
    from flakehound.store import Store

    check_merge_source(other)
    check_store(store_path)
    with Store.open(store_path) as store:
        count = store.merge(other)
    hunts = f"{count.sessions} hunt{'s' * (count.sessions != 1)}"
    print_result(f"{hunts} added, {count.completed} completed, {count.runs} runs copied from {other}")
    return ExitCode.NOTHING_FLAKY
