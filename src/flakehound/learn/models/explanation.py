"""What a forest looks at: SHAP values per test and feature, their ranking, and models with fewer features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flakehound.learn.extras import Array
from flakehound.learn.models.pipelines import Pipeline, fit_pipeline
from flakehound.learn.models.validation import BY_CHANCE, cross_validated, figures_of, learnable_labels
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

_NAMED = 3  # features in the reason of a test


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapValues:
    """How each feature of each explained test moves the predicted probability."""

    contributions: Array  # tests × features
    expected: float  # the mean probability, to which the contributions of a test add


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFeature:
    """A feature with its mean absolute contribution."""

    feature: str
    mean: float


def shap_values(data: Dataset, problem: Problem, pipeline: Pipeline, seed: int, places: Array) -> ShapValues:
    """The contributions of the tests at these places of the problem's domain."""
    import numpy as np
    from shap import TreeExplainer

    labels = learnable_labels(data, problem)
    values = data.values[labels.domain]
    model = fit_pipeline(pipeline, values, labels.positive, seed)
    explainer = TreeExplainer(model.model)
    found = np.asarray(explainer.shap_values(values[places], check_additivity=False))
    return ShapValues(
        contributions=found[..., 1] if found.ndim == 3 else found,
        expected=float(np.ravel(explainer.expected_value)[-1]),
    )


def ranked_features(features: Sequence[str], contributions: Array) -> list[RankedFeature]:
    """Features by their mean absolute contribution, the largest first."""
    import numpy as np

    means = np.abs(contributions).mean(axis=0)
    ranked = [RankedFeature(feature=name, mean=float(mean)) for name, mean in zip(features, means, strict=True)]
    return sorted(ranked, key=lambda one: -one.mean)


def reason_for_test(features: Sequence[str], values: Array, contributions: Array) -> str:
    """One line that names the features which most raise the probability that a test is positive."""
    order = sorted(range(len(features)), key=lambda place: -contributions[place])[:_NAMED]
    named = [f"{features[p]} {values[p]:g} ({contributions[p]:+.2f})" for p in order if contributions[p] > 0]
    return ", ".join(named) or "nothing speaks for it"


def mcc_with_fewer(
    data: Dataset, problem: Problem, pipeline: Pipeline, ranked: Sequence[str], sizes: Sequence[int], seed: int
) -> dict[int, float | None]:
    """MCC of the pipeline with only the first k of the ranked features, for each k that there is."""
    found = {}
    for size in sizes:
        if size <= len(ranked):
            part = data.with_features(ranked[:size])
            figures = figures_of(cross_validated(part, problem, pipeline, split=BY_CHANCE, seed=seed))
            found[size] = figures["mcc"]
    return found
