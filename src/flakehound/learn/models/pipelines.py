"""Pipelines: scaling, balancing and a classifier, fitted on a training part alone."""

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
    """What is done to a training part."""

    classifier: str
    balancing: str
    trees: int | None = None  # None: as the settings or the library say
    scaled: bool = False  # each feature to 0…1, by the training part
    draws: int = 0  # settings that a random search tries on the training part; 0: no search
    settings: Mapping[str, Any] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """Its parts in words."""
        trees = f"-{self.trees}" if self.trees else ""
        return f"{self.classifier}{trees}/{self.balancing}"


def cannier_pipelines() -> tuple[Pipeline, ...]:
    """24: two kinds of forests × four sizes × three ways to balance."""
    return tuple(
        Pipeline(classifier=kind, trees=trees, balancing=way)
        for kind in (classifiers.FOREST, classifiers.EXTRA)
        for trees in (25, 50, 75, 100)
        for way in balancing.OF_CANNIER
    )


def static_pipelines(draws: int) -> tuple[Pipeline, ...]:
    """54: six classifiers × nine ways to balance, each with a random search."""
    return tuple(
        Pipeline(classifier=kind, balancing=way, scaled=True, draws=draws)
        for kind in classifiers.OF_STATIC
        for way in balancing.OF_STATIC
    )


@dataclass(slots=True)
class FittedPipeline:
    """A pipeline that has learned."""

    model: Any
    scaler: Any
    problem: str  # why the balancing is not the one asked for; empty where it is
    settings: Mapping[str, Any]  # what the search chose
    threshold: float = THRESHOLD  # from which probability on a test counts as positive

    def probability(self, values: Array) -> Array:
        """How likely each test is positive."""
        return classifiers.predicted_probability(self.model, self._scaled(values))

    def _scaled(self, values: Array) -> Array:
        return values if self.scaler is None else self.scaler.transform(values)


def fit_pipeline(pipeline: Pipeline, values: Array, positive: Array, seed: int) -> FittedPipeline:
    """Learn from a training part; scaling, balancing and search see nothing else."""
    settings = dict(pipeline.settings)
    if pipeline.trees:
        settings[classifiers.setting_of_trees(pipeline.classifier)] = pipeline.trees
    if pipeline.draws > 1:
        settings |= _best_settings(pipeline, values, positive, seed)
    return _fitted_once(pipeline, values, positive, seed, settings)


def _fitted_once(
    pipeline: Pipeline, values: Array, positive: Array, seed: int, settings: Mapping[str, Any]
) -> FittedPipeline:
    from sklearn.preprocessing import MinMaxScaler

    scaler = MinMaxScaler().fit(values) if pipeline.scaled else None
    scaled = values if scaler is None else scaler.transform(values)
    part = balancing.balance(pipeline.balancing, scaled, positive, seed)
    model = classifiers.new_classifier(pipeline.classifier, seed, settings)
    with warnings.catch_warnings():
        # A perceptron that has not converged is a worse model, which the figures show.
        warnings.simplefilter("ignore")
        model.fit(part.values, part.positive)
    return FittedPipeline(model=model, scaler=scaler, problem=part.problem, settings=settings)


def _best_settings(pipeline: Pipeline, values: Array, positive: Array, seed: int) -> dict[str, Any]:
    """The drawn settings with the best F1 in folds of the training part; the library's own win a tie."""
    import numpy as np

    folds = stratified_folds(positive, _INNER_FOLDS, seed_for(seed, "inner"))
    best: tuple[float, dict[str, Any]] = (-1.0, {})
    for settings in classifiers.drawn_settings(pipeline.classifier, pipeline.draws, seed_for(seed, "search")):
        predicted = np.zeros(len(positive), dtype=int)
        for test in folds:
            train = np.setdiff1d(np.arange(len(positive)), test)
            model = _fitted_once(pipeline, values[train], positive[train], seed, settings)
            predicted[test] = model.probability(values[test]) >= THRESHOLD
        f1 = confusion(positive, predicted).f1
        if f1 > best[0]:
            best = (f1, settings)
    return best[1]
