"""`flakehound study models`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.data import PROBLEMS, columns_option
from flakehound.cli.options import seed_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("models", cls=CommandWithRemedies)
@click.option("--published", is_flag=True, help="Repeat the sources' experiments on the published Java tables.")
@columns_option
@click.option(
    "--problem",
    "problems",
    multiple=True,
    type=click.Choice(PROBLEMS),
    help="Learn this; may be repeated. Default: every problem that can be learned from the table.",
)
@click.option(
    "--pipelines",
    metavar="SET|NAME,...",
    default="cannier",
    show_default=True,
    help="cannier (24), static (54, with random search), or some such as random-forest-100/smote,svm/none.",
)
@click.option(
    "--split",
    "splits",
    multiple=True,
    type=click.Choice(["folds", "projects"]),
    help="folds: ten at random; projects: one left out at a time. Default: both.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Repeats, each with its own seeds.",
)
@click.option(
    "--samples",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Measurements whose mean features are used; drawn anew for every repeat.",
)
@click.option(
    "--draws",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="Settings a random search tries.",
)
@seed_option
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    default=1,
    show_default=True,
    help="Processes at once.",
)
@click.option(
    "--journal", type=_FILE, metavar="FILE", help="Store each finished step in this file, and continue from it."
)
@click.option("--json", "json_file", type=_FILE, help="Also write every figure as JSON.")
@click.argument("tables", nargs=-1, type=_FILE)
def command(json_file: Path | None, **given: Any) -> int:
    """Cross-validate the sources' pipelines on a table of tests.

    Pipelines of the same tests are also compared: Nemenyi ranks of their F1 over the projects, and the overlap of
    the positive tests they find. Further TABLES are further measurements of the same tests.

    \b
    Examples:
        flakehound study models tests.csv
        flakehound study models --pipelines static --journal models.jsonl tests.csv
        flakehound study models --published
    """
    from flakehound.app.studies.models import ModelStudyOptions, run_model_study
    from flakehound.report.study.models import model_lines

    options = ModelStudyOptions(**given)
    check_writable(options.journal, "journal")
    check_writable(json_file)
    with shown_progress() as progress:
        study = run_model_study(options, progress)
    print_result("\n".join(model_lines(study)))
    write_output(json_file, json.dumps(study, indent=1) + "\n")
    return ExitCode.NOTHING_FLAKY
