"""`flakehound data`."""

from __future__ import annotations

from pathlib import Path

import click

from flakehound.app.sessions.default_paths import DEFAULT_STORE
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)
columns_option = click.option(
    "--columns",
    metavar="NAME|FILE",
    help="What the columns mean: a known mapping or a JSON file. Default: by the table's name.",
)
PROBLEMS = ("nod-vs-rest", "nod-vs-victim", "victim-vs-rest", "polluter-vs-rest", "labelled")
problem_option = click.option(
    "--problem",
    type=click.Choice(PROBLEMS),
    help="Which tests are positive. Default: those with the table's own label, or else the first that can be "
    "learned.",
)


@click.group("data")
def command() -> None:
    """Make and check the tables that models learn from."""


@command.command("export", cls=CommandWithRemedies)
@click.option(
    "--store",
    "stores",
    multiple=True,
    type=click.Path(path_type=Path),
    help=f"A store to read; may be repeated. Default: {DEFAULT_STORE}.",
)
@click.option(
    "--features",
    "feature_files",
    multiple=True,
    type=_FILE,
    metavar="FILE",
    help="A CSV with a column `id` and features, as `flakehound lint --metrics` writes it; may be repeated.",
)
@click.option(
    "--pairs",
    type=_FILE,
    metavar="FILE",
    help="Also write who pollutes whom: a CSV with project, victim, polluter.",
)
@click.argument("output", type=_FILE)
def export(stores: tuple[Path, ...], feature_files: tuple[Path, ...], pairs: Path | None, output: Path) -> int:
    """Write one row per test of every store: outcome counts, costs, polluters, features.

    \b
    Example:
        flakehound data export --features metrics.csv tests.csv
    """
    from flakehound.app.data.export import export_table

    print_result(export_table(stores or (DEFAULT_STORE,), feature_files, output, pairs))
    return ExitCode.NOTHING_FLAKY


@command.command("facts", cls=CommandWithRemedies)
@click.option("--pairs", type=_FILE, metavar="FILE", help="Also write who pollutes whom.")
@click.argument("output", type=_FILE)
def facts(pairs: Path | None, output: Path) -> int:
    """Write the table that the default models of `hunt --policy cannier` are learned from.

    Its columns are those of `flakehound data export`.

    \b
    Example:
        flakehound data facts --pairs pairs.csv tests.csv
    """
    from flakehound.app.data.export import export_shipped_table

    print_result(export_shipped_table(output, pairs))
    return ExitCode.NOTHING_FLAKY


@command.command("check", cls=CommandWithRemedies)
@columns_option
@click.argument("table", type=_FILE)
def check(columns: str | None, table: Path) -> int:
    """Say what a table holds, what was left out, and what can be learned from it.

    \b
    Example:
        flakehound data check tests.csv
    """
    from flakehound.app.data.check import check_table
    from flakehound.report.study.tables import dataset_lines

    print_result("\n".join(dataset_lines(check_table(table, columns))))
    return ExitCode.NOTHING_FLAKY
