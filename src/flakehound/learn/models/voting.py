"""Pipelines that vote, and a threshold of their own.

The chance of a test is the mean of what the members say. From which chance on a test counts as positive is chosen
by the training part alone: its tests are predicted in inner folds, and the threshold with the best F1 is kept.
"""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.learn.extras import Array
from flakehound.learn.models.balancing import NONE
from flakehound.learn.models.classifiers import BOOSTED, EXTRA, FOREST
from flakehound.learn.models.pipelines import THRESHOLD, FittedPipeline, Pipeline, fit_pipeline
from flakehound.learn.models.splits import stratified_folds
from flakehound.learn.seeds import seed_for

_INNER_FOLDS = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Vote:
    """What is done to a training part: every member learns from it, and one threshold is chosen."""

    name: str
    members: tuple[Pipeline, ...]


def two_forests() -> Vote:
    """50 trees of a random forest and 50 extra trees, not balanced: the threshold makes up for rare positives."""
    return Vote(
        name="two forests",
        members=tuple(Pipeline(classifier=kind, trees=50, balancing=NONE) for kind in (FOREST, EXTRA)),
    )


def three_learners() -> Vote:
    """A random forest, extra trees and boosted trees: they err on other tests, so that the mean errs less."""
    informed = {"criterion": "entropy", "max_features": 0.3}
    boosted = {"learning_rate": 0.05, "l2_regularization": 1.0}
    return Vote(
        name="three learners",
        members=(
            Pipeline(classifier=FOREST, trees=100, balancing=NONE, settings=informed),
            Pipeline(classifier=EXTRA, trees=100, balancing=NONE),
            Pipeline(classifier=BOOSTED, trees=300, balancing=NONE, settings=boosted),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedVote:
    """A vote that has learned."""

    models: tuple[FittedPipeline, ...]
    threshold: float

    @property
    def problem(self) -> str:
        """Why some balancing is not the one asked for; empty where all are."""
        return "; ".join(dict.fromkeys(one.problem for one in self.models if one.problem))

    def probability(self, values: Array) -> Array:
        """The mean of what the members say of each test."""
        import numpy as np

        return np.asarray(np.mean([one.probability(values) for one in self.models], axis=0))


def fit_model(how: Pipeline | Vote, values: Array, positive: Array, seed: int) -> FittedPipeline | FittedVote:
    """Learn from a training part; nothing else is seen."""
    if isinstance(how, Pipeline):
        return fit_pipeline(how, values, positive, seed)
    models = _members(how, values, positive, seed)
    if min(positive.sum(), len(positive) - positive.sum()) < 2:  # no inner folds that both have both classes
        return FittedVote(models=models, threshold=THRESHOLD)
    inner = _inner_probability(how, values, positive, seed_for(seed, "inner"))
    return FittedVote(models=models, threshold=best_threshold(positive, inner))


def _members(vote: Vote, values: Array, positive: Array, seed: int) -> tuple[FittedPipeline, ...]:
    return tuple(
        fit_pipeline(one, values, positive, seed_for(seed, "member", place))
        for place, one in enumerate(vote.members)
    )


def _inner_probability(vote: Vote, values: Array, positive: Array, seed: int) -> Array:
    """For each test of a training part what members say that learned from its other folds."""
    import numpy as np

    found = np.zeros(len(positive))
    for number, test in enumerate(stratified_folds(positive, _INNER_FOLDS, seed)):
        train = np.setdiff1d(np.arange(len(positive)), test)
        models = _members(vote, values[train], positive[train], seed_for(seed, number))
        found[test] = FittedVote(models=models, threshold=0.0).probability(values[test])
    return found


def best_threshold(positive: Array, probability: Array) -> float:
    """The threshold with the best F1, halfway to the next lower probability; of equally good ones the highest."""
    import numpy as np

    order = np.argsort(-probability, kind="stable")
    ranked = probability[order]
    last = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))  # tests of one probability are told alike
    found = 2 * np.cumsum(positive[order])[last] / (last + 1 + positive.sum())
    place = int(found.argmax())
    lower = ranked[last[place + 1]] if place + 1 < len(last) else 0.0
    return float((ranked[last[place]] + lower) / 2)
