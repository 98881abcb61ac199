"""`flakehound study calls`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.options import store_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

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
@click.option(
    "--folds",
    type=click.IntRange(min=2),
    metavar="N",
    default=5,
    show_default=True,
    help="Number of folds of the cross-validation.",
)
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="N", default=0, show_default=True, help="Seed of the folds."
)
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
    """Find the functions whose calls mark flaky tests, and measure how well they do.

    \b
    Examples:
        flakehound study calls                                      the last trace and hunt of this folder
        flakehound study calls --calls a.csv --calls b.csv --labels labels.csv
    """
    from flakehound.app.studies.calls import CallsStudyOptions, run_calls_study
    from flakehound.report.study.calls import calls_study_text

    check_writable(json_file)
    options = CallsStudyOptions(
        calls=calls,
        labels=labels,
        store_path=store_path,
        beta_causes=beta_causes,
        beta_c=beta_c,
        folds=folds,
        seed=seed,
    )
    with shown_progress() as progress:
        study = run_calls_study(options, progress)
    try:
        write_output(json_file, json.dumps(study, indent=1) + "\n")
    finally:
        print_result(calls_study_text(study))
    return ExitCode.NOTHING_FLAKY
