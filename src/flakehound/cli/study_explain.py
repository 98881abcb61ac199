"""`flakehound study explain`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.data import columns_option, problem_option
from flakehound.cli.options import seed_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("explain", cls=CommandWithRemedies)
@columns_option
@problem_option
@click.option(
    "--tests",
    type=click.IntRange(min=1),
    metavar="N",
    default=500,
    show_default=True,
    help="Number of tests to explain, drawn at random.",
)
@click.option("--retrain", is_flag=True, help="Also train with the 15, 12, 9, 6 and 3 strongest features only.")
@seed_option
@click.option("--json", "json_file", type=_FILE, help="Also write every contribution as JSON.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the contributions as a beeswarm.")
@click.argument("table", type=_FILE)
def command(
    columns: str | None,
    problem: str | None,
    tests: int,
    retrain: bool,
    seed: int,
    json_file: Path | None,
    plot_file: Path | None,
    table: Path,
) -> int:
    """Show which features decide for a model of a table, feature by feature and test by test.

    \b
    Example:
        flakehound study explain --plot swarm.png tests.csv
    """
    from flakehound.app.studies.explain import ExplainStudyOptions, run_explain_study
    from flakehound.app.studies.plots import check_plot
    from flakehound.report.study.explain import explained_lines, plot_swarm

    check_writable(json_file)
    check_plot(plot_file)
    options = ExplainStudyOptions(
        table=table, columns=columns, problem=problem, tests=tests, retrain=retrain, seed=seed
    )
    with shown_progress() as progress:
        study = run_explain_study(options, progress)
    print_result("\n".join(explained_lines(study)))
    write_output(json_file, json.dumps(study, indent=1) + "\n")
    if plot_file is not None:
        plot_swarm(study, plot_file)
    return ExitCode.NOTHING_FLAKY
