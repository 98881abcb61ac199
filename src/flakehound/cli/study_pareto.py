"""`flakehound study pareto`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.data import columns_option
from flakehound.cli.options import seed_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("pareto", cls=CommandWithRemedies)
@click.option(
    "--published", is_flag=True, help="On the published Java tables: counts of 10,000 runs, measured times."
)
@columns_option
@click.option(
    "--technique",
    type=click.Choice(["rerun", "classification", "pairwise"]),
    default="rerun",
    show_default=True,
    help="pairwise: two models choose the victims and polluters whose pairs are run.",
)
@click.option(
    "--pairs",
    type=_FILE,
    metavar="FILE",
    help="pairwise: a CSV with project, victim, polluter, as `flakehound data export --pairs` writes it. "
    "Default: each polluter with each victim of its project.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    metavar="N",
    default=5,
    show_default=True,
    help="Number of trainings, each with its own seeds.",
)
@click.option(
    "--most",
    type=click.IntRange(min=2),
    metavar="N",
    default=2500,
    show_default=True,
    help="Largest number of reruns of one test.",
)
@seed_option
@click.option("--json", "json_file", type=_FILE, help="Also write the front as JSON.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the front; needs flakehound[study].")
@click.argument("tables", nargs=-1, type=_FILE)
def command(json_file: Path | None, plot_file: Path | None, **given: Any) -> int:
    """Sweep the thresholds of model-assisted rerunning on a table with counts, costs and features.

    Further TABLES are further measurements of the same tests.

    \b
    Examples:
        flakehound study pareto --plot front.png tests.csv
        flakehound study pareto --technique pairwise --pairs pairs.csv tests.csv
    """
    from flakehound.app.studies.pareto import ParetoStudyOptions, run_pareto_study
    from flakehound.app.studies.plots import check_plot
    from flakehound.report.study.pareto import front_lines, plot_front

    check_writable(json_file)
    check_plot(plot_file)
    options = ParetoStudyOptions(**given)
    with shown_progress() as progress:
        study = run_pareto_study(options, progress)
    print_result("\n".join(front_lines(study)))
    write_output(json_file, json.dumps(study, indent=1) + "\n")
    if plot_file is not None:
        plot_front(study, plot_file)
    return ExitCode.NOTHING_FLAKY
