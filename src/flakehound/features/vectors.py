"""Mean feature vectors: eq. 2 of CANNIER, over as many measured runs as there are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from flakehound.core.measurements import MEASURED_FEATURES, Measures
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order
from flakehound.core.records import RunRecord
from flakehound.features.table import NAMES, STATIC

StaticFeatures = Mapping[str, Mapping[str, float | None]]
"""Test as the source has it, without parameters -> feature -> value."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureVector:
    """What is known of one test."""

    id: NodeId
    runs: int  # in which it was measured
    values: Mapping[str, float | None]  # by name, in the order of the table; None: not known


def mean_vectors(order: Order, records: Iterable[RunRecord], static: StaticFeatures) -> list[FeatureVector]:
    """One vector per test; each figure is the mean of the runs in which it could be measured."""
    measured: dict[NodeId, list[Measures]] = defaultdict(list)
    for record in records:
        for place, measures in record.measures.items():
            measured[record.order[place]].append(measures)
    return [_vector(test, measured[test], static) for test in order]


def _vector(test: NodeId, measured: list[Measures], static: StaticFeatures) -> FeatureVector:
    of_source = static.get(test) or static.get(without_parameters(test), {})
    values: dict[str, float | None] = {
        name: _mean(getattr(one, name) for one in measured) for name in MEASURED_FEATURES
    }
    values |= {name: of_source.get(name) for name in STATIC}
    return FeatureVector(id=test, runs=len(measured), values={name: values[name] for name in NAMES})


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def without_parameters(test: NodeId) -> str:
    """The test as the source has it: pytest puts parameters, which may hold anything, into brackets behind it."""
    path, colons, inner = test.partition("::")
    return f"{path}{colons}{inner.partition('[')[0]}"
