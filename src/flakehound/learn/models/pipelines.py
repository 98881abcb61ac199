"""Pipelines: scaling, balancing and a classifier, fitted to a training part only."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.learn.evaluation.scores import confusion
from flakehound.learn.extras import Array
from flakehound.learn.models import balancing, classifiers
from flakehound.learn.models.splits import stratified_folds
from flakehound.learn.seeds import seed_for

THRESHOLD = 0.5
_INNER_FOLDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """How a model is fitted to a training part."""

    classifier: str
    balancing: str
    trees: int | None = None  # None: by `settings`, or the default of the library
    scaled: bool = False  # scale each feature to 0…1, by the training part
    draws: int = 0  # settings that a random search tries on the training part; 0: no search
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Classifier, number of trees and balancing, such as `random-forest-100/smote`."""
        trees = f"-{self.trees}" if self.trees else ""
        return f"{self.classifier}{trees}/{self.balancing}"


def cannier_pipelines() -> tuple[Pipeline, ...]:
    """The 24 pipelines of CANNIER: two kinds of forests, four sizes, three balancing techniques."""
    return tuple(
        Pipeline(classifier=classifier, trees=trees, balancing=technique)
        for classifier in (classifiers.FOREST, classifiers.EXTRA)
        for trees in (25, 50, 75, 100)
        for technique in balancing.CANNIER_TECHNIQUES
    )


def static_pipelines(draws: int) -> tuple[Pipeline, ...]:
    """The 54 pipelines of STATIC: six classifiers, nine balancing techniques, each with a random search."""
    return tuple(
        Pipeline(classifier=classifier, balancing=technique, scaled=True, draws=draws)
        for classifier in classifiers.STATIC_CLASSIFIERS
        for technique in balancing.STATIC_TECHNIQUES
    )


@dataclass(slots=True)
class FittedPipeline:
    """A fitted pipeline."""

    model: Any
    scaler: Any
    problem: str  # why the requested balancing was not used; empty: it was
    settings: Mapping[str, Any]  # what the search chose
    threshold: float = THRESHOLD  # smallest probability at which a test counts as positive

    def probability(self, values: Array) -> Array:
        """How likely each test is positive."""
        scaled = values if self.scaler is None else self.scaler.transform(values)
        return classifiers.predicted_probability(self.model, scaled)


def fit_pipeline(pipeline: Pipeline, values: Array, positive: Array, seed: int) -> FittedPipeline:
    """Fit a pipeline to a training part; scaling, balancing and search use nothing else."""
    settings = dict(pipeline.settings)
    if pipeline.trees:
        settings[classifiers.trees_setting(pipeline.classifier)] = pipeline.trees
    if pipeline.draws > 1:
        settings |= _best_settings(pipeline, values, positive, seed)
    return _fit_with_settings(pipeline, values, positive, seed, settings)


def _fit_with_settings(
    pipeline: Pipeline, values: Array, positive: Array, seed: int, settings: Mapping[str, Any]
) -> FittedPipeline:
    from sklearn.preprocessing import MinMaxScaler

    scaler = MinMaxScaler().fit(values) if pipeline.scaled else None
    scaled = values if scaler is None else scaler.transform(values)
    part = balancing.balance(pipeline.balancing, scaled, positive, seed)
    model = classifiers.new_classifier(pipeline.classifier, seed, settings)
    with warnings.catch_warnings():
        # A perceptron that has not converged is a worse model, and the figures show that.
        warnings.simplefilter("ignore")
        model.fit(part.values, part.positive)
    return FittedPipeline(model=model, scaler=scaler, problem=part.problem, settings=settings)


def _best_settings(pipeline: Pipeline, values: Array, positive: Array, seed: int) -> dict[str, Any]:
    """The drawn settings with the best F1 in folds of the training part; the first of equals."""
    import numpy as np

    folds = stratified_folds(positive, _INNER_FOLDS, seed_for(seed, "inner"))
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for settings in classifiers.draw_settings(pipeline.classifier, pipeline.draws, seed_for(seed, "search")):
        predicted = np.zeros(len(positive), dtype=int)
        for test in folds:
            train = np.setdiff1d(np.arange(len(positive)), test)
            model = _fit_with_settings(pipeline, values[train], positive[train], seed, settings)
            predicted[test] = model.probability(values[test]) >= THRESHOLD
        f1 = confusion(positive, predicted).f1
        if f1 > best[0]:
            best = (f1, settings)
    return best[1]
