"""How measured features change the odds that a test is flaky, from earlier measured runs of the same suite.

There are no ratios without the extra `learn`, without measured runs, or without time for the models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from flakehound.core.errors import FailedStep, attempt
from flakehound.core.outcomes import NodeId
from flakehound.features.vectors import FeatureVector, mean_vectors
from flakehound.hunt.limits import MAX_SCORES_SHARE, MIN_RANKED_TESTS, MODEL_FIT_S, SCORES_START_S
from flakehound.learn.extras import requires_libraries
from flakehound.store import SessionInfo, Store


@dataclass(frozen=True, slots=True, kw_only=True)
class OddsRatios:
    """The odds of each test divided by those of an average test; a test that is not named has the ratio 1."""

    nod: Mapping[NodeId, float] = field(default_factory=dict)
    order_dependent: Mapping[NodeId, float] = field(default_factory=dict)


def measured_ratios(store: Store, earlier: Sequence[SessionInfo], time_s: float | None) -> OddsRatios:
    """The ratios from the newest measured runs of a suite."""
    if time_s is None or MAX_SCORES_SHARE * time_s < SCORES_START_S:
        return OddsRatios()
    vectors = _newest_vectors(store, earlier)
    if not vectors:
        return OddsRatios()
    found = attempt(lambda: _ratios(vectors, may_fit=MAX_SCORES_SHARE * time_s >= SCORES_START_S + MODEL_FIT_S))
    return OddsRatios() if isinstance(found, FailedStep) else found


def _newest_vectors(store: Store, earlier: Sequence[SessionInfo]) -> list[FeatureVector]:
    for info in reversed(earlier):
        records = list(store.measured_records(info.id)) if info.id is not None else []
        if records:
            assert info.id is not None
            vectors = mean_vectors(store.suite(info.id).order, records, store.source_features(info.id))
            return [vector for vector in vectors if vector.runs]
    return []


@requires_libraries("numpy", "scipy")
def _ratios(vectors: Sequence[FeatureVector], *, may_fit: bool) -> OddsRatios:
    """The ratios from models without the features that no test has, such as lines without coverage installed."""
    import numpy as np

    from flakehound.app.hunt.default_models import default_models
    from flakehound.learn.tables.problems import Problem

    present = {name for vector in vectors for name, value in vector.values.items() if value is not None}
    models = default_models(frozenset(vectors[0].values) - present, may_fit=may_fit)
    if models is None:
        return OddsRatios()
    known = {vector.id: [vector.values[name] for name in models.features] for vector in vectors}
    known = {test: values for test, values in known.items() if None not in values}
    if len(known) < MIN_RANKED_TESTS:
        return OddsRatios()
    table = np.array(list(known.values()), dtype=float)

    def odds_ratios(problem: Problem) -> dict[NodeId, float]:
        return dict(zip(known, map(float, models.models[problem].odds_ratios(table)), strict=True))

    return OddsRatios(nod=odds_ratios(Problem.NOD_VS_REST), order_dependent=odds_ratios(Problem.VICTIM_VS_REST))
