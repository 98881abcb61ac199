"""The default models of `hunt --policy cannier`: logistic functions of measured features.

What is read of a feature is its rank among the tests of the suite: that means the same on a slow machine as on a
fast one, and in a small project as in a large one. A model comes with what models without a test's own project say
of that test: thresholds are found on these, and how far its odds can be trusted. Plain JSON; fitting takes no
random choice.
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
_MOST_STEPS = 50
_CLOSE = 1e-8
_DIGITS = 6  # beyond them machines differ


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModel:
    """The model of one problem, and what models that never saw a project say of its tests."""

    constant: float
    weights: tuple[float, ...]  # of the ranks, in the order of the features
    kept_apart: tuple[float, ...]  # probabilities, for each test of the problem's domain
    trust: float  # what its log odds are worth in projects that it never saw; 0: nothing, 1: all they say

    def probability(self, values: Array) -> Array:
        """How likely each test of one suite is positive, where both classes are equally common."""
        return _sigmoid(self._log_odds(values))

    def likelier(self, values: Array) -> Array:
        """How many times the odds of an average test each test of one suite has, as far as that can be trusted."""
        import numpy as np

        return np.exp(self.trust * self._log_odds(values))

    def _log_odds(self, values: Array) -> Array:
        import numpy as np

        odds: Array = self.constant + ranks_in_suite(values) @ np.array(self.weights)
        return odds


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredModels:
    """The models of all problems, of one set of features."""

    features: tuple[str, ...]
    models: Mapping[Problem, MeasuredModel]


def fit_measured_models(data: Dataset) -> MeasuredModels:
    """Learn every problem from a table of several projects."""
    ranks = ranks_within_projects(data)
    models = {problem: fit_measured_model(data, ranks, problem) for problem in PROBLEMS}
    return MeasuredModels(features=data.features, models=models)


def fit_measured_model(data: Dataset, ranks: Array, problem: Problem) -> MeasuredModel:
    """Learn one problem; the ranks are those within projects."""
    import numpy as np

    labels = learnable_labels(data, problem)
    own, positive, projects = ranks[labels.domain], labels.positive, data.projects[labels.domain]
    centre, spread = own.mean(axis=0), own.std(axis=0)
    spread[spread < 1e-12] = 1.0
    table = np.hstack([np.ones((len(own), 1)), (own - centre) / spread])
    whole = _solved(table, positive, np.zeros(table.shape[1]))
    apart = np.full(len(positive), 1.0)  # not predicted: left to the technique
    for name in sorted(set(projects)):
        left_out = projects == name
        if 0 < positive[~left_out].sum() < (~left_out).sum():
            weights = _solved(table[~left_out], positive[~left_out], whole)
            apart[left_out] = _sigmoid(table[left_out] @ weights)
    plain = whole[1:] / spread
    return MeasuredModel(
        constant=round(float(whole[0] - plain @ centre), _DIGITS),
        weights=tuple(round(float(weight), _DIGITS) for weight in plain),
        kept_apart=tuple(round(float(one), _DIGITS) for one in apart),
        trust=round(trust_in(apart, positive, projects), _DIGITS),
    )


def trust_in(apart: Array, positive: Array, projects: Array) -> float:
    """The factor on the log odds of unseen projects that explains their tests best; from 0 to 1.

    Before anything is seen the factor is near 0, so that few projects earn little trust.
    """
    import numpy as np

    odds = np.log(np.clip(apart, 1e-6, 1 - 1e-6)) - np.log1p(-np.clip(apart, 1e-6, 1 - 1e-6))
    known = np.flatnonzero(apart < 1)
    odds, shares, positive = odds[known], shares_of(positive, projects)[known], positive[known]
    trust = 0.0
    for _ in range(_MOST_STEPS):
        chances = _sigmoid(trust * odds)
        slope = (shares * odds * (positive - chances)).sum() - trust
        trust += float(slope / ((shares * odds**2 * chances * (1 - chances)).sum() + 1))
        if abs(slope) < _CLOSE:
            break
    return min(1.0, max(0.0, trust))


def shares_of(positive: Array, projects: Array) -> Array:
    """How much each test counts: the positive ones of a project together once, as they are alike, all others as
    much as all of these."""
    import numpy as np

    _names, place = np.unique(projects.astype(str), return_inverse=True)
    found = np.bincount(place, weights=positive)
    return np.where(positive == 1, 1 / np.maximum(found[place], 1), (found > 0).sum() / (1 - positive).sum())


def _solved(table: Array, positive: Array, start: Array) -> Array:
    """Weights by Newton's method; both classes weigh the same."""
    import numpy as np

    shares = np.where(positive == 1, 0.5 / positive.sum(), 0.5 / (1 - positive).sum()) * len(positive)
    penalties = np.full(table.shape[1], PENALTY)
    penalties[0] = 0.0
    weights = start.copy()
    for _ in range(_MOST_STEPS):
        chances = _sigmoid(table @ weights)
        slope = table.T @ (shares * (positive - chances)) - penalties * weights
        bends = (table * (shares * chances * (1 - chances))[:, None]).T @ table + np.diag(penalties)
        step = np.linalg.solve(bends, slope)
        weights = weights + step
        if np.abs(step).max() < _CLOSE:
            break
    return weights


def _sigmoid(odds: Array) -> Array:
    import numpy as np

    probability: Array = 1.0 / (1.0 + np.exp(-np.clip(odds, -60.0, 60.0)))
    return probability


def as_text(models: MeasuredModels) -> str:
    """The models as JSON."""
    told = {
        problem.value: {
            "constant": one.constant,
            "weights": one.weights,
            "kept_apart": one.kept_apart,
            "trust": one.trust,
        }
        for problem, one in models.models.items()
    }
    return json.dumps({"schema": SCHEMA, "features": models.features, "models": told}) + "\n"


def from_text(text: str) -> MeasuredModels:
    """Read them again; an error where something else is in the text."""
    try:
        told: Any = json.loads(text)
        if told["schema"] != SCHEMA:
            raise ValueError(f"its schema is {told['schema']!r}")
        models = {Problem(name): _model_in(one, told["features"]) for name, one in told["models"].items()}
        return MeasuredModels(features=tuple(told["features"]), models={one: models[one] for one in PROBLEMS})
    except (ValueError, KeyError, TypeError) as problem:
        raise UnusableData(f"these are no models of measured features: {problem}") from problem


def _model_in(told: Mapping[str, Any], features: Sequence[str]) -> MeasuredModel:
    weights, apart = (tuple(map(float, told[name])) for name in ("weights", "kept_apart"))
    if len(weights) != len(features):
        raise ValueError(f"{len(weights)} weights for {len(features)} features")
    numbers = {name: float(told[name]) for name in ("constant", "trust")}
    return MeasuredModel(weights=weights, kept_apart=apart, **numbers)
