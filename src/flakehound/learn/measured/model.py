"""The default models of `hunt --policy cannier`: logistic functions of measured features.

The input is the rank of a feature among the tests of the suite: a rank has the same meaning on slow and fast
machines, and in small and large projects. Each model includes predictions of its training tests by models that
were fitted without the test's project: thresholds, and how far the odds can be trusted, come from these. A model
is plain JSON; fitting needs no random numbers.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from flakehound.learn.extras import Array
from flakehound.learn.models.validation import learnable_labels
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.ranks import ranks_in_suite, ranks_within_projects

SCHEMA = "flakehound/cannier-models/2"
PROBLEMS = (Problem.NOD_VS_REST, Problem.NOD_VS_VICTIM, Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)
PENALTY = 300.0  # on squared weights of scaled ranks
_MAX_STEPS = 50
_CONVERGED = 1e-8  # a smaller step of Newton's method ends the search
_DIGITS = 6  # further digits may differ between machines


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModel:
    """The model of one problem, and predictions of its training tests by models without their project."""

    constant: float
    weights: tuple[float, ...]  # of the ranks, in the order of the features
    unseen_probabilities: tuple[float, ...]  # one for each test of the problem's domain
    trust: float  # factor for the log odds in projects that the model was not fitted to; from 0 to 1

    def probability(self, values: Array) -> Array:
        """How likely each test of one suite is positive if both classes are equally common."""
        return _sigmoid(self._log_odds(values))

    def odds_ratios(self, values: Array) -> Array:
        """The odds of each test of one suite relative to an average test, reduced by the trust in the model."""
        import numpy as np

        return np.exp(self.trust * self._log_odds(values))

    def _log_odds(self, values: Array) -> Array:
        import numpy as np

        odds: Array = self.constant + ranks_in_suite(values) @ np.array(self.weights)
        return odds


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModels:
    """The models of all problems for one set of features."""

    features: tuple[str, ...]
    models: Mapping[Problem, MeasuredModel]


def fit_measured_models(data: Dataset) -> MeasuredModels:
    """Fit a model of every problem to a table of several projects."""
    ranks = ranks_within_projects(data)
    models = {problem: fit_measured_model(data, ranks, problem) for problem in PROBLEMS}
    return MeasuredModels(features=data.features, models=models)


def fit_measured_model(data: Dataset, ranks: Array, problem: Problem) -> MeasuredModel:
    """Fit the model of one problem; `ranks` are those of the features within projects."""
    import numpy as np

    labels = learnable_labels(data, problem)
    own_ranks, positive, projects = ranks[labels.domain], labels.positive, data.projects[labels.domain]
    centre, spread = own_ranks.mean(axis=0), own_ranks.std(axis=0)
    spread[spread < 1e-12] = 1.0
    table = np.hstack([np.ones((len(own_ranks), 1)), (own_ranks - centre) / spread])
    scaled_weights = _fit_weights(table, positive, np.zeros(table.shape[1]))
    unseen = np.full(len(positive), 1.0)  # not predicted: left to the technique
    for name in sorted(set(projects)):
        is_left_out = projects == name
        if 0 < positive[~is_left_out].sum() < (~is_left_out).sum():
            own_weights = _fit_weights(table[~is_left_out], positive[~is_left_out], scaled_weights)
            unseen[is_left_out] = _sigmoid(table[is_left_out] @ own_weights)
    weights = scaled_weights[1:] / spread
    return MeasuredModel(
        constant=round(float(scaled_weights[0] - weights @ centre), _DIGITS),
        weights=tuple(round(float(weight), _DIGITS) for weight in weights),
        unseen_probabilities=tuple(round(float(chance), _DIGITS) for chance in unseen),
        trust=round(fit_trust(unseen, positive, projects), _DIGITS),
    )


def fit_trust(probability: Array, positive: Array, projects: Array) -> float:
    """The factor for the log odds that explains tests of unseen projects best; from 0 to 1.

    A penalty pulls the factor towards 0, so a model earns little trust from few projects.
    """
    import numpy as np

    clipped = np.clip(probability, 1e-6, 1 - 1e-6)
    odds = np.log(clipped) - np.log1p(-clipped)
    predicted = np.flatnonzero(probability < 1)
    odds, weights, positive = odds[predicted], balanced_weights(positive, projects)[predicted], positive[predicted]
    trust = 0.0
    for _ in range(_MAX_STEPS):
        chances = _sigmoid(trust * odds)
        slope = (weights * odds * (positive - chances)).sum() - trust
        trust += float(slope / ((weights * odds**2 * chances * (1 - chances)).sum() + 1))
        if abs(slope) < _CONVERGED:
            break
    return min(1.0, max(0.0, trust))


def balanced_weights(positive: Array, projects: Array) -> Array:
    """How much each test counts.

    The positive tests of one project count as one together, because they are similar; all negative tests count as
    much as all positive ones.
    """
    import numpy as np

    _names, project_numbers = np.unique(projects.astype(str), return_inverse=True)
    positives = np.bincount(project_numbers, weights=positive)
    positive_weights = 1 / np.maximum(positives[project_numbers], 1)
    return np.where(positive == 1, positive_weights, (positives > 0).sum() / (1 - positive).sum())


def _fit_weights(table: Array, positive: Array, start: Array) -> Array:
    """The weights of a logistic function by Newton's method; both classes count the same."""
    import numpy as np

    row_weights = np.where(positive == 1, 0.5 / positive.sum(), 0.5 / (1 - positive).sum()) * len(positive)
    penalties = np.full(table.shape[1], PENALTY)
    penalties[0] = 0.0
    weights = start.copy()
    for _ in range(_MAX_STEPS):
        chances = _sigmoid(table @ weights)
        gradient = table.T @ (row_weights * (positive - chances)) - penalties * weights
        curvatures = row_weights * chances * (1 - chances)
        hessian = (table * curvatures[:, None]).T @ table + np.diag(penalties)
        step = np.linalg.solve(hessian, gradient)
        weights = weights + step
        if np.abs(step).max() < _CONVERGED:
            break
    return weights


def _sigmoid(odds: Array) -> Array:
    import numpy as np

    probability: Array = 1.0 / (1.0 + np.exp(-np.clip(odds, -60.0, 60.0)))
    return probability


def to_json(models: MeasuredModels) -> str:
    """The models as the text of a file."""
    by_problem = {
        problem.value: {
            "constant": model.constant,
            "weights": model.weights,
            "kept_apart": model.unseen_probabilities,
            "trust": model.trust,
        }
        for problem, model in models.models.items()
    }
    return json.dumps({"schema": SCHEMA, "features": models.features, "models": by_problem}) + "\n"


def from_json(text: str) -> MeasuredModels:
    """The models in the text of a file; raises UnusableData if it contains something else."""
    try:
        content: Any = json.loads(text)
        if content["schema"] != SCHEMA:
            raise ValueError(f"its schema is {content['schema']!r}")
        features = content["features"]
        models = {Problem(name): _model_from(model, features) for name, model in content["models"].items()}
        return MeasuredModels(features=tuple(features), models={problem: models[problem] for problem in PROBLEMS})
    except (ValueError, KeyError, TypeError) as error:
        raise UnusableData(f"not a file with models of measured features: {error}") from error


def _model_from(content: Mapping[str, Any], features: Sequence[str]) -> MeasuredModel:
    weights, unseen = (tuple(map(float, content[name])) for name in ("weights", "kept_apart"))
    if len(weights) != len(features):
        raise ValueError(f"{len(weights)} weights for {len(features)} features")
    numbers = {name: float(content[name]) for name in ("constant", "trust")}
    return MeasuredModel(weights=weights, unseen_probabilities=unseen, **numbers)
