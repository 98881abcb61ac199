"""Explain a forest: SHAP values per test and feature, ranked features, and models with fewer features."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from flakehound.learn.extras import Array
from flakehound.learn.models.pipelines import Pipeline, fit_pipeline
from flakehound.learn.models.validation import BY_CHANCE, cross_validate, figures_of, learnable_labels
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

_MAX_NAMED_FEATURES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapValues:
    """How each feature of each explained test moves the predicted probability."""

    contributions: Array  # tests × features
    expected: float  # the mean probability; with a test's contributions it adds up to the test's probability


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedFeature:
    """A feature with its mean absolute contribution."""

    feature: str
    mean: float


def shap_values(data: Dataset, problem: Problem, pipeline: Pipeline, seed: int, rows: Array) -> ShapValues:
    """The contributions for the tests in these rows of the problem's domain."""
    import numpy as np
    from shap import TreeExplainer

    labels = learnable_labels(data, problem)
    values = data.values[labels.domain]
    model = fit_pipeline(pipeline, values, labels.positive, seed)
    explainer = TreeExplainer(model.model)
    contributions = np.asarray(explainer.shap_values(values[rows], check_additivity=False))
    return ShapValues(
        contributions=contributions[..., 1] if contributions.ndim == 3 else contributions,
        expected=float(np.ravel(explainer.expected_value)[-1]),
    )


def rank_features(features: Sequence[str], contributions: Array) -> list[RankedFeature]:
    """The features by their mean absolute contribution, the largest first."""
    import numpy as np

    means = np.abs(contributions).mean(axis=0)
    ranked = [RankedFeature(feature=name, mean=float(mean)) for name, mean in zip(features, means, strict=True)]
    return sorted(ranked, key=lambda feature: -feature.mean)


def reason_for_test(features: Sequence[str], values: Array, contributions: Array) -> str:
    """One line with the features that raise the probability most."""
    largest_first = sorted(range(len(features)), key=lambda n: -contributions[n])[:_MAX_NAMED_FEATURES]
    parts = [
        f"{features[n]} {values[n]:g} ({contributions[n]:+.2f})" for n in largest_first if contributions[n] > 0
    ]
    return ", ".join(parts) or "nothing speaks for it"


def mcc_with_fewer_features(
    data: Dataset, problem: Problem, pipeline: Pipeline, ranked: Sequence[str], sizes: Sequence[int], seed: int
) -> dict[int, float | None]:
    """The MCC with only the first n of the ranked features, for each n in `sizes` that is not too large."""
    mcc_by_size = {}
    for size in sizes:
        if size <= len(ranked):
            reduced = data.with_features(ranked[:size])
            figures = figures_of(cross_validate(reduced, problem, pipeline, split=BY_CHANCE, seed=seed))
            mcc_by_size[size] = figures["mcc"]
    return mcc_by_size
