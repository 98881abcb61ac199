"""Which metrics have to do with flakiness, as text; takes the `flakehound/study-metrics/1` object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from flakehound.report.study.tables import markdown

_HEAD = [
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


def metric_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """One row per metric, the strongest effect first."""
    yield f"{told['table']}, {told['problem']}: {told['positive']} of {told['tests']} tests are positive"
    yield ""
    yield from markdown(_HEAD, [_row(told, one) for one in told["metrics"]])
    yield "VIF and weight (logistic regression, per standard deviation): of the metrics left with factors up to 5"


def _row(told: Mapping[str, Any], one: Mapping[str, Any]) -> list[str]:
    name = one["feature"]
    own = [name, f"{one['delta']:+.3f}", one["size"], f"{one['corrected']:.2g}", f"{one['gain']:.4f}"]
    if name not in told["inflation"]:
        return [*own, f"{one['spearman']:+.3f}", "dropped", "", ""]
    weight = told["logistic"][name]
    factor = f"{told['inflation'][name]:.2f}"
    return [*own, f"{one['spearman']:+.3f}", factor, f"{weight['weight']:+.3f}", f"{weight['p_value']:.2g}"]
