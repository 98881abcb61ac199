"""`flakehound study metrics`."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from flakehound.app.output_files import check_writable, write_json
from flakehound.cli.data import columns_option, problem_option
from flakehound.cli.remedies import CommandWithRemedies
from flakehound.core.errors import ExitCode

if TYPE_CHECKING:
    from flakehound.learn.tables.dataset import Dataset
    from flakehound.learn.tables.problems import Problem

_FILE = click.Path(path_type=Path, dir_okay=False)
SCHEMA = "flakehound/study-metrics/1"


@click.command("metrics", cls=CommandWithRemedies)
@columns_option
@problem_option
@click.option("--json", "json_file", type=_FILE, help="Also write every figure as JSON.")
@click.argument("table", type=_FILE)
def command(columns: str | None, problem: str | None, json_file: Path | None, table: Path) -> int:
    """Say which metrics of a table have to do with flakiness, and how much.

    Metric by metric: Mann-Whitney with Holm's correction, Cliff's delta, information gain, Spearman, VIF and
    logistic regression. Nemenyi ranks and the overlap of correct predictions compare models, not metrics:
    `flakehound study models` tells them.

    \b
    Example:
        flakehound study metrics tests.csv
    """
    from flakehound.app.data.problems import asked_problem
    from flakehound.app.data.tables import read_table
    from flakehound.report.study.metrics import metric_lines

    check_writable(json_file)
    data = read_table(table, columns)
    told = _measured(data, asked_problem(data, problem, table))
    click.echo("\n".join(metric_lines(told)))
    write_json(json_file, json.dumps(told, indent=1) + "\n")
    return ExitCode.NOTHING_FLAKY


def _measured(data: Dataset, problem: Problem) -> dict[str, Any]:
    from flakehound.learn.evaluation import metric_statistics
    from flakehound.learn.extras import check_installed
    from flakehound.learn.models.validation import learnable

    check_installed("scipy", "statsmodels")
    labels = learnable(data, problem)
    values = data.values[labels.domain]
    kept = metric_statistics.without_collinear(data.features, values)
    places = [data.features.index(name) for name in kept]
    weights = metric_statistics.logistic(list(kept), values[:, places], labels.positive)
    return {
        "schema": SCHEMA,
        "table": data.name,
        "problem": problem.value,
        "tests": len(labels.domain),
        "positive": int(labels.positive.sum()),
        "metrics": [asdict(one) for one in metric_statistics.differences(data.features, values, labels.positive)],
        "inflation": {name: round(factor, 3) for name, factor in kept.items()},
        "logistic": {name: {"weight": weight, "p_value": p} for name, (weight, p) in weights.items()},
    }
