"""`flakehound study policies`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.options import seed_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode, UsageError, same_command

if TYPE_CHECKING:
    from flakehound.app.studies.policies import PolicyStudyOptions

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("policies", cls=CommandWithRemedies)
@click.option(
    "--seeds",
    type=click.IntRange(min=2),
    metavar="N",
    default=20,
    show_default=True,
    help="Number of suites to draw.",
)
@click.option(
    "--auc",
    type=click.FloatRange(0.5, 0.99),
    metavar="X",
    default=0.75,
    show_default=True,
    help="How good the drawn score is: the area under its ROC curve.",
)
@click.option(
    "--scores",
    type=click.Choice(["drawn", "lint", "parts"]),
    default="drawn",
    show_default=True,
    help="drawn: as good as --auc says; lint: scores of flakehound lint's model for tests of projects that it was "
    "not trained on; parts: the same for fewer tests, with their real features and calls.",
)
@click.option(
    "--costs",
    type=click.Choice(["python", "measured", "by-kind", "alike"]),
    default="python",
    show_default=True,
    help="python: drawn after published figures on Python tests; measured: what we measured of real suites; "
    "by-kind: Java's flaky tests and Java's others; alike: all of Java's tests.",
)
@click.option(
    "--counts",
    type=click.Choice(["python", "java", "by-cause", "by-cause-noisy"]),
    default="python",
    show_default=True,
    help="Where failure rates come from. java: with the times of the same tests, so that --costs and --share have "
    "no effect; by-cause: known flaky Python tests, rerun plainly or under load (noisy).",
)
@click.option(
    "--store",
    "store_path",
    type=click.Path(path_type=Path),
    help="Replay on the tests of this store instead, with the rates and times it recorded.",
)
@click.option(
    "--flaky",
    type=click.IntRange(min=10),
    metavar="N",
    default=100,
    show_default=True,
    help="Number of NOD tests in each suite.",
)
@click.option(
    "--share",
    type=click.FloatRange(0.0001, 0.5),
    metavar="X",
    default=0.01,
    show_default=True,
    help="Share of NOD tests in each suite.",
)
@seed_option
@click.option("--json", "json_file", type=_FILE, help="Also write every figure as JSON.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw detections against time; needs flakehound[study].")
def command(store_path: Path | None, json_file: Path | None, plot_file: Path | None, **given: Any) -> int:
    """Replay policies of a search on recorded outcome counts: when are 80 % of the NOD tests found?

    \b
    Examples:
        flakehound study policies --auc 0.9 --plot detections.png
        flakehound study policies --store .flakehound/flakehound.db
    """
    from flakehound.app.studies.plots import check_plot
    from flakehound.app.studies.policies import PolicyStudyOptions, run_policy_study
    from flakehound.report.study.policies import plot_detections, policy_lines

    check_writable(json_file)
    check_plot(plot_file)
    options = PolicyStudyOptions(store=store_path, **given)
    _check_one_source(options)
    _check_one_score(options)
    with shown_progress() as progress:
        study = run_policy_study(options, progress)
    print_result("\n".join(policy_lines(study)))
    write_output(json_file, json.dumps(study, indent=1) + "\n")
    if plot_file is not None:
        plot_detections(study, plot_file)
    return ExitCode.NOTHING_FLAKY


def _check_one_source(options: PolicyStudyOptions) -> None:
    """Refuse options that have no effect with `--store`, which has its own rates, times and shares."""
    context = click.get_current_context()
    names = ("counts", "costs", "flaky", "share")
    given = [name for name in names if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if options.store is not None and given:
        raise UsageError(
            f"--store has its own counts and times: --{given[0]} has no effect",
            remedy=same_command(**dict.fromkeys(given)),
        )


def _check_one_score(options: PolicyStudyOptions) -> None:
    """Refuse `--auc` for scores that are not drawn, whose AUC is fixed."""
    is_given = click.get_current_context().get_parameter_source("auc") is ParameterSource.COMMANDLINE
    if options.scores != "drawn" and is_given:
        raise UsageError(
            f"--scores {options.scores} has its own AUC: --auc has no effect",
            remedy=same_command(auc=None),
        )
