"""`flakehound study metrics`: which metrics of a table are related to flakiness, and how strongly."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

from flakehound.app.data.problems import choose_problem
from flakehound.app.data.tables import read_table
from flakehound.app.progress import Progress
from flakehound.learn.evaluation.metric_statistics import logistic_weights, metric_differences, without_collinear
from flakehound.learn.extras import requires_libraries
from flakehound.learn.models.validation import learnable_labels
from flakehound.report.study.metrics import MetricsStudy

SCHEMA = "flakehound/study-metrics/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsStudyOptions:
    """The options of `flakehound study metrics`."""

    table: Path
    columns: str | None  # a known column mapping, or a JSON file; None: by the table's name
    problem: str | None  # None: the first that can be learned from the table


def run_metrics_study(options: MetricsStudyOptions, progress: Progress) -> MetricsStudy:
    """The statistics of every metric, as `flakehound/study-metrics/1`."""
    data = read_table(options.table, options.columns)
    problem = choose_problem(data, options.problem, options.table)
    with requires_libraries("scipy", "statsmodels"):
        labels = learnable_labels(data, problem)
        values = data.values[labels.domain]
        progress.message(f"{len(labels.domain)} tests, {len(data.features)} metrics ...")
        progress.show_steps("removing collinear metrics", 0, 3)
        factors = without_collinear(data.features, values)
        columns = [data.features.index(name) for name in factors]
        progress.show_steps("logistic regression", 1, 3)
        weights = logistic_weights(list(factors), values[:, columns], labels.positive)
        progress.show_steps("differences of metrics", 2, 3)
        differences = metric_differences(data.features, values, labels.positive)
    return {
        "schema": SCHEMA,
        "table": data.name,
        "problem": problem.value,
        "tests": len(labels.domain),
        "positive": int(labels.positive.sum()),
        "metrics": [asdict(difference) for difference in differences],
        "inflation": {name: round(factor, 3) for name, factor in factors.items()},
        "logistic": {name: asdict(weight) for name, weight in weights.items()},
    }
