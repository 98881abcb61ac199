"""Mean feature vectors over all measured runs (eq. 2 of CANNIER)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flakehound.core.measurements import MEASURED_FEATURES, Measures
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.features.table import FEATURE_NAMES, STATIC_FEATURES

StaticFeatures = Mapping[str, Mapping[str, float | None]]
"""Node id without parameters -> feature -> value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVector:
    """The features of one test."""

    id: NodeId
    runs: int  # in which it was measured
    values: Mapping[str, float | None]  # by name, in the order of the table; None: unknown


def mean_vectors(order: Order, records: Iterable[RunRecord], static: StaticFeatures) -> list[FeatureVector]:
    """One vector per test; each feature is the mean of the runs in which it could be measured."""
    measures_of: dict[NodeId, list[Measures]] = defaultdict(list)
    for record in records:
        for position, measures in record.measures.items():
            measures_of[record.order[position]].append(measures)
    return [_vector(test, measures_of[test], static) for test in order]


def _vector(test: NodeId, measures: list[Measures], static: StaticFeatures) -> FeatureVector:
    static_values = static.get(test) or static.get(without_parameters(test), {})
    values: dict[str, float | None] = {
        name: _mean(getattr(run, name) for run in measures) for name in MEASURED_FEATURES
    }
    values |= {name: static_values.get(name) for name in STATIC_FEATURES}
    return FeatureVector(id=test, runs=len(measures), values={name: values[name] for name in FEATURE_NAMES})


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def without_parameters(test: NodeId) -> str:
    """The node id of the test function; pytest appends parameters in brackets, and they may contain any text."""
    path, colons, inner = test.partition("::")
    return f"{path}{colons}{inner.partition('[')[0]}"
