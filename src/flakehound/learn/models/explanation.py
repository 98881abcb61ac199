"""What a forest looks at: SHAP values per test and feature, their ranking, and models with fewer features."""

from __future__ import annotations

from collections.abc import Sequence

from flakehound.learn.extras import Array
from flakehound.learn.models.pipelines import Pipeline, fitted
from flakehound.learn.models.validation import BY_CHANCE, cross_validated, figures_of, learnable
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem


def shap_values(
    data: Dataset, problem: Problem, pipeline: Pipeline, seed: int, places: Array
) -> tuple[Array, float]:
    """Contributions to the probability of the tests at these places of the domain, and the mean they add to."""
    import numpy as np
    from shap import TreeExplainer

    labels = learnable(data, problem)
    values = data.values[labels.domain]
    model = fitted(pipeline, values, labels.positive, seed)
    explainer = TreeExplainer(model.model)
    found = np.asarray(explainer.shap_values(values[places], check_additivity=False))
    expected = float(np.ravel(explainer.expected_value)[-1])
    return (found[..., 1] if found.ndim == 3 else found), expected


def ranking(features: Sequence[str], contributions: Array) -> list[tuple[str, float]]:
    """Features by their mean absolute contribution, the largest first."""
    import numpy as np

    means = np.abs(contributions).mean(axis=0)
    return sorted(zip(features, map(float, means), strict=True), key=lambda one: -one[1])


def why(features: Sequence[str], values: Array, contributions: Array) -> str:
    """One line on what speaks most for a test being positive."""
    order = sorted(range(len(features)), key=lambda place: -contributions[place])[:3]
    said = [f"{features[p]} {values[p]:g} ({contributions[p]:+.2f})" for p in order if contributions[p] > 0]
    return ", ".join(said) or "nothing speaks for it"


def with_fewer(
    data: Dataset, problem: Problem, pipeline: Pipeline, ranked: Sequence[str], sizes: Sequence[int], seed: int
) -> dict[int, float | None]:
    """MCC of the pipeline with only the first k features, for each k there is."""
    found = {}
    for size in sizes:
        if size <= len(ranked):
            part = data.with_features(ranked[:size])
            figures = figures_of(cross_validated(part, problem, pipeline, split=BY_CHANCE, seed=seed))
            found[size] = figures["mcc"]
    return found
