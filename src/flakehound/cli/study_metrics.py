"""`flakehound study metrics`."""

from __future__ import annotations

import json
from pathlib import Path

import click

from flakehound.app.output_files import check_writable, write_output
from flakehound.cli.data import columns_option, problem_option
from flakehound.cli.progress import shown_progress
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.cli.terminal import print_result
from flakehound.core.errors import ExitCode

_FILE = click.Path(path_type=Path, dir_okay=False)


@click.command("metrics", cls=CommandWithRemedies)
@columns_option
@problem_option
@click.option("--json", "json_file", type=_FILE, help="Also write every figure as JSON.")
@click.argument("table", type=_FILE)
def command(columns: str | None, problem: str | None, json_file: Path | None, table: Path) -> int:
    """Show which metrics of a table are related to flakiness, and how strongly.

    Metric by metric: Mann-Whitney with Holm's correction, Cliff's delta, information gain, Spearman, VIF and
    logistic regression. Nemenyi ranks and the overlap of correct predictions compare models, not metrics:
    see `flakehound study models`.

    \b
    Example:
        flakehound study metrics tests.csv
    """
    from flakehound.app.studies.metrics import MetricsStudyOptions, run_metrics_study
    from flakehound.report.study.metrics import metric_lines

    check_writable(json_file)
    options = MetricsStudyOptions(table=table, columns=columns, problem=problem)
    with shown_progress() as progress:
        study = run_metrics_study(options, progress)
    print_result("\n".join(metric_lines(study)))
    write_output(json_file, json.dumps(study, indent=1) + "\n")
    return ExitCode.NOTHING_FLAKY
