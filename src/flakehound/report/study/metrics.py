"""Which metrics are related to flakiness, as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypedDict

from flakehound.report.study.tables import markdown_table

_HEADER = [
    "metric",
    "Cliff's delta",
    "effect",
    "p, corrected",
    "gain, bits",
    "Spearman",
    "VIF",
    "weight",
    "p of the weight",
]


class MetricsStudy(TypedDict):
    """The JSON object `flakehound/study-metrics/1`."""

    schema: str
    table: str
    problem: str
    tests: int
    positive: int
    metrics: list[dict[str, Any]]  # name, p-values and effect sizes of each metric, the strongest effect first
    inflation: dict[str, float]  # variance inflation factors of the metrics that are not collinear
    logistic: dict[str, dict[str, float]]  # weight and p_value of the same metrics


def metric_lines(study: MetricsStudy) -> Iterator[str]:
    """A table with one row per metric, the strongest effect first."""
    yield f"{study['table']}, {study['problem']}: {study['positive']} of {study['tests']} tests are positive"
    yield ""
    yield from markdown_table(_HEADER, [_row(study, metric) for metric in study["metrics"]])
    yield "VIF and weight (logistic regression, per standard deviation): of the metrics left with factors up to 5"


def _row(study: MetricsStudy, metric: Mapping[str, Any]) -> list[str]:
    name = metric["feature"]
    own = [name, f"{metric['delta']:+.3f}", metric["size"], f"{metric['corrected']:.2g}", f"{metric['gain']:.4f}"]
    if name not in study["inflation"]:
        return [*own, f"{metric['spearman']:+.3f}", "dropped", "", ""]
    weight = study["logistic"][name]
    factor = f"{study['inflation'][name]:.2f}"
    return [*own, f"{metric['spearman']:+.3f}", factor, f"{weight['weight']:+.3f}", f"{weight['p_value']:.2g}"]
