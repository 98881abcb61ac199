"""`flakehound train`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("train", cls=CommandWithRemedies)
@click.option(
    "--data",
    "tables",
    multiple=True,
    type=_FILE,
    metavar="CSV",
    help="A table that --rows of another project wrote; may be repeated.",
)
@click.option(
    "--out",
    type=_FILE,
    metavar="FILE",
    help="Where the model goes. Default: .flakehound/model.json, where lint looks.",
)
@click.option(
    "--rows", type=_FILE, metavar="CSV", help="Also write the tests of the stores as a table for --data."
)
@click.option(
    "--least-runs",
    type=click.IntRange(2),
    default=20,
    show_default=True,
    metavar="N",
    help="Leave out tests that never flaked in fewer runs than this: too little is known of them.",
)
@click.option(
    "--weight",
    type=click.FloatRange(0, min_open=True),
    default=10.0,
    show_default=True,
    metavar="X",
    help="Each of your projects counts as much as this many projects of the default data.",
)
@click.option("--without-default", is_flag=True, help="Learn from your own tests only.")
@click.argument("stores", nargs=-1, type=click.Path(path_type=Path))
def command(
    tables: tuple[Path, ...],
    out: Path | None,
    rows: Path | None,
    least_runs: int,
    weight: float,
    without_default: bool,
    stores: tuple[Path, ...],
) -> int:
    """Train lint's score on what your own hunts have found.

    Reads how often each test passed and failed in the stores, reads the source of the same tests as lint does,
    adds both to the data of the default model, and writes a model. `flakehound lint` uses it from then on. Remove
    the file to have the default model back.

    \b
    Examples:
        flakehound train
        flakehound train .flakehound/flakehound.db ../shop/.flakehound/flakehound.db
        flakehound train --rows ours.csv
        flakehound train --data theirs.csv --out model.json
    """
    from flakehound.app.lint.training import TrainOptions, train_model

    options = TrainOptions(
        stores=stores,
        tables=tables,
        out=out,
        rows=rows,
        least_runs=least_runs,
        weight=weight,
        with_default=not without_default,
    )
    with shown_progress() as progress:
        summary = train_model(options, progress)
    print_result(summary)
    return ExitCode.NOTHING_FLAKY
