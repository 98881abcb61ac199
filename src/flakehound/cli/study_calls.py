"""`flakehound study calls`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from flakehound.app.output_files import check_writable, write_json
from flakehound.app.sessions.places import current_folder
from flakehound.cli.options import store_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode, UsageError, same_command

if TYPE_CHECKING:
    from flakehound.app.studies.calls_data import StudiedCalls

_FILE = click.Path(path_type=Path, dir_okay=False)
_BETA = click.FloatRange(min=0, min_open=True)


@click.command("calls", cls=CommandWithRemedies)
@click.option(
    "--calls",
    "calls",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="Calls of one project, as `flakehound calls --csv` writes them; may be repeated. Default: the store's.",
)
@click.option(
    "--labels",
    type=_FILE,
    metavar="FILE",
    help="CSV with id and flaky; also project, cause, passed, failed, run_s.",
)
@click.option(
    "--beta-causes", type=_BETA, default=24.0, show_default=True, help="Weight of recall, cause by cause."
)
@click.option("--beta-c", type=_BETA, default=5.0, show_default=True, help="Weight of recall over C functions.")
@click.option("--folds", type=click.IntRange(min=2), default=5, show_default=True, help="Of the cross-validation.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="Of the folds.")
@click.option("--json", "json_file", type=_FILE, metavar="FILE", help="Also write the figures as JSON.")
@store_option
def command(
    calls: tuple[Path, ...],
    labels: Path | None,
    beta_causes: float,
    beta_c: float,
    folds: int,
    seed: int,
    json_file: Path | None,
    store_path: Path,
) -> int:
    """Find the functions whose calls mark flaky tests, and say how well they do.

    \b
    Examples:
        flakehound study calls                                      the last trace and hunt of this folder
        flakehound study calls --calls a.csv --calls b.csv --labels labels.csv
    """
    from flakehound.app.sessions.project_settings import characteristic_functions_in
    from flakehound.app.studies.calls import SelectionWishes, studied
    from flakehound.calls.characteristic_functions import default, manual
    from flakehound.report.study.calls import calls_study_text

    check_writable(json_file)
    data = _data(calls, labels, store_path)
    if not any(test.is_flaky for test in data.tests):
        raise UsageError(
            "no test is flaky: there is nothing to select for", remedy="flakehound study calls --help"
        )
    sets = {
        "manual selection": manual(),
        "flakehound's set": default() if calls else characteristic_functions_in(current_folder()),
    }
    wishes = SelectionWishes(beta_causes=beta_causes, beta_c=beta_c, folds=folds, seed=seed, slowdown=0.05)
    told = studied(data, sets, wishes, lambda words: click.echo(words, err=True))
    try:
        write_json(json_file, json.dumps(told, indent=1) + "\n")
    finally:
        click.echo(calls_study_text(told))
    return ExitCode.NOTHING_FLAKY


def _data(calls: tuple[Path, ...], labels: Path | None, store_path: Path) -> StudiedCalls:
    from flakehound.app.sessions.store_file import existing_store
    from flakehound.app.studies.calls_data import from_files, from_store

    if calls and labels is not None:
        return from_files(calls, labels, remedy="flakehound calls --csv calls.csv")
    if calls or labels is not None:
        raise UsageError("--calls and --labels belong together", remedy=same_command(calls=None, labels=None))
    with existing_store(store_path) as store:
        return from_store(store, remedy="flakehound calls && flakehound hunt && flakehound study calls")
