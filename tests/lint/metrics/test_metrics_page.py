"""docs/reference/metrics.md explains every metric, and its examples have the values that it gives."""

from __future__ import annotations

import re
from dataclasses import asdict
from pathlib import Path

import pytest
from metric_samples import metrics_of_class, metrics_of_test

from flakehound.lint.metrics.production import ProductionMetrics
from flakehound.lint.metrics.table import METRIC_NAMES

PAGE = (Path(__file__).parents[3] / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^### (\w+)\n.*?^```python\n(.*?)^```\n`(\w+) = (\S+)`$", PAGE, re.DOTALL | re.MULTILINE)
LINKED = re.compile(r"# linked methods: (.*)")


def value_of(name: str, source: str) -> float:
    """The metric of the example's test function, or of its class."""
    if "def test_" in source:
        linked = LINKED.search(source)
        methods = frozenset(linked[1].split(", ")) if linked else None
        return asdict(metrics_of_test(source, methods=methods))[name]
    return asdict(metrics_of_class(source))[name.removeprefix("production_")]


def test_every_metric_has_its_section_in_order():
    assert tuple(title for title, *_rest in EXAMPLES) == METRIC_NAMES


def test_every_example_is_about_the_metric_of_its_section():
    assert [name for title, _source, name, _value in EXAMPLES if name != title] == []


@pytest.mark.parametrize(
    ("name", "source", "value"), [(name, source, value) for _, source, name, value in EXAMPLES]
)
def test_the_example_has_the_value_it_says(name, source, value):
    assert value_of(name, source) == pytest.approx(float(value), abs=0.005)


def test_production_metrics_come_first_in_the_table():
    names = [
        name for name in METRIC_NAMES if name.removeprefix("production_") in ProductionMetrics.__dataclass_fields__
    ]

    assert tuple(name for name in names if name != "halstead_volume") == METRIC_NAMES[:15]
