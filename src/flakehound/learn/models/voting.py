"""Several pipelines that vote, and their common threshold.

The probability of a test is the mean of the members' probabilities. The threshold is chosen with the training part
only: its tests are predicted in inner folds, and the threshold with the best F1 is used.
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
    """Pipelines that are all fitted to the same training part, and share one threshold."""

    name: str
    members: tuple[Pipeline, ...]


def two_forests() -> Vote:
    """A random forest and extra trees, 50 each; not balanced, because the threshold allows for rare positives."""
    return Vote(
        name="two forests",
        members=tuple(Pipeline(classifier=name, trees=50, balancing=NONE) for name in (FOREST, EXTRA)),
    )


def three_learners() -> Vote:
    """A random forest, extra trees and boosted trees: they err on different tests, so their mean errs less."""
    forest_settings = {"criterion": "entropy", "max_features": 0.3}
    boosting_settings = {"learning_rate": 0.05, "l2_regularization": 1.0}
    return Vote(
        name="three learners",
        members=(
            Pipeline(classifier=FOREST, trees=100, balancing=NONE, settings=forest_settings),
            Pipeline(classifier=EXTRA, trees=100, balancing=NONE),
            Pipeline(classifier=BOOSTED, trees=300, balancing=NONE, settings=boosting_settings),
        ),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedVote:
    """A fitted vote."""

    models: tuple[FittedPipeline, ...]
    threshold: float

    @property
    def problem(self) -> str:
        """Why the requested balancing of some members was not used; empty: it was."""
        return "; ".join(dict.fromkeys(model.problem for model in self.models if model.problem))

    def probability(self, values: Array) -> Array:
        """The mean of the members' probabilities for each test."""
        import numpy as np

        return np.asarray(np.mean([model.probability(values) for model in self.models], axis=0))


def fit_model(model: Pipeline | Vote, values: Array, positive: Array, seed: int) -> FittedPipeline | FittedVote:
    """Fit a pipeline or a vote to a training part."""
    if isinstance(model, Pipeline):
        return fit_pipeline(model, values, positive, seed)
    members = _fit_members(model, values, positive, seed)
    if min(positive.sum(), len(positive) - positive.sum()) < 2:  # not enough for two inner folds with both classes
        return FittedVote(models=members, threshold=THRESHOLD)
    probability = _inner_probability(model, values, positive, seed_for(seed, "inner"))
    return FittedVote(models=members, threshold=best_threshold(positive, probability))


def _fit_members(vote: Vote, values: Array, positive: Array, seed: int) -> tuple[FittedPipeline, ...]:
    return tuple(
        fit_pipeline(member, values, positive, seed_for(seed, "member", number))
        for number, member in enumerate(vote.members)
    )


def _inner_probability(vote: Vote, values: Array, positive: Array, seed: int) -> Array:
    """For each test of a training part, its probability by members fitted to the other inner folds."""
    import numpy as np

    probability = np.zeros(len(positive))
    for number, test in enumerate(stratified_folds(positive, _INNER_FOLDS, seed)):
        train = np.setdiff1d(np.arange(len(positive)), test)
        members = _fit_members(vote, values[train], positive[train], seed_for(seed, number))
        probability[test] = FittedVote(models=members, threshold=0.0).probability(values[test])
    return probability


def best_threshold(positive: Array, probability: Array) -> float:
    """The threshold with the best F1, halfway to the next lower probability; the highest of equally good ones."""
    import numpy as np

    order = np.argsort(-probability, kind="stable")
    ranked = probability[order]
    # Tests with one probability get the same prediction, so only the last of them can be the lowest positive one.
    last_of_equals = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True))
    f1 = 2 * np.cumsum(positive[order])[last_of_equals] / (last_of_equals + 1 + positive.sum())
    best = int(f1.argmax())
    next_lower = ranked[last_of_equals[best + 1]] if best + 1 < len(last_of_equals) else 0.0
    return float((ranked[last_of_equals[best]] + next_lower) / 2)
