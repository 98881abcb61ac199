"""How much likelier flaky measured features make each test: from earlier measured runs of the same suite.

Needs the extra `learn`. Without it, without measured runs, or where there is no time, features say nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.app.hunt.static_priors import FIT_S, SHARE, START_S
from flakehound.core.errors import FailedStep, attempted
from flakehound.core.outcomes import NodeId
from flakehound.features.vectors import FeatureVector, mean_vectors
from flakehound.learn.extras import requires_libraries
from flakehound.store import SessionInfo, Store

FEWEST = 10  # tests: ranks among fewer mean nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratios:
    """By test, how many times the odds of an average test it has; a test that is not named has its odds."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)


def measured_ratios(store: Store, earlier: Sequence[SessionInfo], time_s: float | None) -> Ratios:
    """What the newest measured runs of a suite say of its tests."""
    if time_s is None or SHARE * time_s < START_S:
        return Ratios()
    vectors = _newest(store, earlier)
    if not vectors:
        return Ratios()
    found = attempted(lambda: _asked(vectors, may_fit=SHARE * time_s >= START_S + FIT_S))
    return Ratios() if isinstance(found, FailedStep) else found


def _newest(store: Store, earlier: Sequence[SessionInfo]) -> list[FeatureVector]:
    for info in reversed(earlier):
        looks = list(store.measured_records(info.id)) if info.id is not None else []
        if looks:
            assert info.id is not None
            vectors = mean_vectors(store.suite(info.id).order, looks, store.source_features(info.id))
            return [vector for vector in vectors if vector.runs]
    return []


@requires_libraries("numpy", "scipy")
def _asked(vectors: Sequence[FeatureVector], *, may_fit: bool) -> Ratios:
    """By models without the features that no test has, such as lines where coverage is not installed."""
    import numpy as np

    from flakehound.app.hunt.default_models import default_models
    from flakehound.learn.tables.problems import Problem

    seen = {name for vector in vectors for name, value in vector.values.items() if value is not None}
    models = default_models(frozenset(vectors[0].values) - seen, may_fit=may_fit)
    if models is None:
        return Ratios()
    known = {vector.id: [vector.values[name] for name in models.features] for vector in vectors}
    known = {test: values for test, values in known.items() if None not in values}
    if len(known) < FEWEST:
        return Ratios()
    table = np.array(list(known.values()), dtype=float)

    def likelier(problem: Problem) -> dict[NodeId, float]:
        return dict(zip(known, map(float, models.models[problem].likelier(table)), strict=True))

    return Ratios(nod=likelier(Problem.NOD_VS_REST), order_dependent=likelier(Problem.VICTIM_VS_REST))
