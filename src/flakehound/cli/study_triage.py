"""`flakehound study triage`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.options import suite_options
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode, UsageError, same_command

if TYPE_CHECKING:
    from flakehound.report.study.triage import TriageStudy

PARTS = ("postponed", "processes", "revisions")
_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("triage", cls=CommandWithRemedies)
@click.option("--only", "parts", multiple=True, type=click.Choice(PARTS), help="Study this part; may be repeated.")
@click.option(
    "--revisions",
    type=click.IntRange(min=1),
    default=60,
    show_default=True,
    metavar="N",
    help="Changes to look at, the newest first.",
)
@click.option("--since", metavar="REV", help="Look at no change before this commit.")
@click.option(
    "--releases",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="FOLDER",
    help="Compare the releases in this folder (sdists or unpacked sources) instead of commits.",
)
@click.option(
    "--tests",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Tests to study, drawn at random. Reruns are timed for ten of them at most.",
)
@click.option(
    "--reruns",
    default="1,2,5,10,20",
    show_default=True,
    metavar="N,N,...",
    help="Numbers of reruns in one process to time.",
)
@click.option(
    "--repeats",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    metavar="N",
    help="How often everything is timed; medians are reported.",
)
@click.option("--csv", "csv_file", type=_FILE, help="Also write every figure as CSV.")
@click.option("--plot", "plot_file", type=_FILE, help="Draw the shares as a box plot; needs flakehound[study].")
@suite_options
def command(
    parts: tuple[str, ...], reruns: str, csv_file: Path | None, plot_file: Path | None, **given: Any
) -> int:
    """Repeat the evaluation behind `pytest --flakehound` on your own project.

    \b
    postponed  what reruns right after a test cost, and what they cost at the end of the suite
    processes  one rerun in a new process, and how many in the same process take as long (N_E)
    revisions  for each of the last changes, the tests that it cannot affect

    \b
    Example:
        flakehound study triage --only revisions --revisions 20 --plot shares.png tests
    """
    from flakehound.app.studies.plots import check_plot
    from flakehound.app.studies.triage import TriageStudyOptions, run_triage_study

    chosen = tuple(dict.fromkeys(parts)) or PARTS
    options = TriageStudyOptions(parts=chosen, reruns=_numbers(reruns), **given)
    check_writable(options.suite.json_file)
    check_writable(csv_file, "csv_file")
    check_plot(plot_file)
    with shown_progress() as progress:
        study = run_triage_study(options, progress)
    _show(study, options.suite.json_file, csv_file, plot_file)
    return ExitCode.INTERRUPTED if study["interrupted"] else ExitCode.NOTHING_FLAKY


def _numbers(text: str) -> tuple[int, ...]:
    found = [word.strip() for word in text.split(",")]
    if not all(word.isascii() and word.isdigit() and int(word) for word in found):
        raise UsageError(f"{text!r} is not a list of numbers of reruns", remedy=same_command(reruns="1,5,20"))
    return tuple(sorted({int(word) for word in found}))


def _show(study: TriageStudy, json_file: Path | None, csv_file: Path | None, plot_file: Path | None) -> None:
    from flakehound.report.study.triage import triage_study_csv, triage_study_lines
    from flakehound.report.study.triage_plot import plot_shares

    print_result("\n".join(triage_study_lines(study)))
    write_output(json_file, json.dumps(study, indent=2) + "\n")
    write_output(csv_file, triage_study_csv(study), "csv_file")
    revisions = study.get("revisions")
    if plot_file is not None and revisions and revisions["tests"]:
        plot_shares({study["project"]: [test["percent"] for test in revisions["tests"]]}, plot_file)
