"""Thresholds of model-assisted rerunning, learned from a table.

With a single model, only tests whose probability is between two thresholds are left to the technique (CANNIER §3).
Two models choose the possible victims and the possible polluters of pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

from flakehound.learn.evaluation.pareto import (
    SingleTask,
    SweepPoints,
    knee_index,
    pareto_front,
    single_points,
    technique_alone_index,
)
from flakehound.learn.evaluation.rerun_costs import classification_costs, rerun_costs
from flakehound.learn.extras import Array
from flakehound.learn.models.pipelines import FittedPipeline, Pipeline, fit_pipeline
from flakehound.learn.models.validation import BY_CHANCE, cross_validate, learnable_labels
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.dataset import Dataset, Labels, UnusableData
from flakehound.learn.tables.problems import Problem

# The best pipeline of CANNIER for NOD-vs-Rest.
PIPELINE = Pipeline(classifier="extra-trees", trees=100, balancing="smote")
MAX_RERUNS = 200  # of one test by RERUN, when costs are compared
KEPT_POSITIVE_SHARE = 0.95  # of the victims, and of the polluters, that must remain candidates


class ProbabilityModel(Protocol):
    """A model that says how likely tests are positive."""

    def probability(self, values: Array) -> Array:
        """The probability for each row of features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which point of the Pareto front to use; the knee if both are None."""

    detection: float | None = None  # reach this MCC at the lowest cost
    cost: float | None = None  # spend at most this share of the technique's own cost, for the best MCC


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Two thresholds, and their results on the table they were learned from."""

    lower: float  # a test below it is taken for negative: steady, or a victim
    upper: float  # a test that reaches it is taken for NOD without a run; above 1: no test is
    detection: float  # MCC
    cost: float  # share of the technique's own cost, including features
    lost: float  # share of the NOD tests that are below the lower threshold


def single_task(data: Dataset, labels: Labels, max_reruns: int) -> SingleTask:
    """What the sweep of a single model needs to know about a table.

    The technique is Classification for NOD-vs-Victim, and RERUN for other problems.
    """
    counts, cost_s = data.counts, data.cost_s
    if counts is None or cost_s is None:
        raise UnusableData(f"{data.name!r} has no outcome counts or no column of costs, which a sweep needs")
    if labels.problem is Problem.NOD_VS_VICTIM:
        technique_s = classification_costs(_suite_costs(data), counts.shuffled_failed)
    else:
        technique_s = rerun_costs(cost_s, counts.original_failed, counts.original_runs, max_reruns)
    return SingleTask(
        positive=labels.positive, technique_s=technique_s[labels.domain], suite_s=float(cost_s.sum())
    )


def _suite_costs(data: Dataset) -> Array:
    """For each test, the seconds of one run of its project."""
    import numpy as np

    _names, project_numbers = np.unique(data.projects.astype(str), return_inverse=True)
    return np.bincount(project_numbers, weights=data.cost_s)[project_numbers]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """All pairs of thresholds on one table, evaluated with predictions of tests by models without them."""

    points: SweepPoints
    probability: Array  # of each test of the problem's domain
    positive: Array

    def without_assumed_positives(self) -> Sweep:
        """The sweep without the points that take a test for positive without running it."""
        import numpy as np

        return replace(self, points=self.points.select(np.flatnonzero(self.points.second > 1)))

    def thresholds(self, aim: Aim) -> Thresholds:
        """The thresholds that fit the aim."""
        front = pareto_front(self.points)
        technique_s = float(self.points.cost_s[technique_alone_index(self.points)])
        chosen = _index_for_aim(front, aim, technique_s)
        lower = float(front.first[chosen])
        return Thresholds(
            lower=lower,
            upper=float(front.second[chosen]),
            detection=float(front.detection[chosen]),
            cost=float(front.cost_s[chosen] / technique_s),
            lost=float((self.probability[self.positive == 1] < lower).mean()),
        )


def sweep_thresholds(data: Dataset, problem: Problem, seed: int) -> Sweep:
    """Sweep the thresholds for RERUN or Classification with predictions by cross-validation."""
    _task(data, problem)  # raises an error before any model is trained if the table cannot be swept
    return sweep_predictions(data, problem, unseen_probabilities(data, problem, seed))


def _task(data: Dataset, problem: Problem) -> SingleTask:
    return single_task(data, learnable_labels(data, problem), MAX_RERUNS)


def unseen_probabilities(data: Dataset, problem: Problem, seed: int) -> Array:
    """The probability of each test of the problem's domain, by a model that was not trained on it."""
    import numpy as np

    predictions = cross_validate(data, problem, PIPELINE, split=BY_CHANCE, seed=seed)
    return np.nan_to_num(predictions.probability, nan=1.0)  # not predicted: left to the technique


def sweep_predictions(data: Dataset, problem: Problem, probability: Array) -> Sweep:
    """Sweep the thresholds with given predictions of the problem's domain."""
    task = _task(data, problem)
    points = single_points(task, [(1, probability)])
    return Sweep(points=points, probability=probability, positive=task.positive)


def _index_for_aim(front: SweepPoints, aim: Aim, technique_s: float) -> int:
    """The index of the point on the front that fits the aim; the nearest one if none does."""
    import numpy as np

    if aim.detection is not None:
        good_enough = np.flatnonzero(front.detection >= aim.detection)
        return int(good_enough[0]) if len(good_enough) else len(front) - 1
    if aim.cost is not None:
        affordable = np.flatnonzero(front.cost_s <= aim.cost * technique_s)
        return int(affordable[-1]) if len(affordable) else 0
    return knee_index(front)


def candidate_threshold(
    data: Dataset, problem: Problem, seed: int, kept_share: float = KEPT_POSITIVE_SHARE
) -> float:
    """The lowest probability of a candidate, with predictions by cross-validation."""
    return lowest_candidate_probability(data, problem, unseen_probabilities(data, problem, seed), kept_share)


def lowest_candidate_probability(
    data: Dataset, problem: Problem, probability: Array, kept_share: float = KEPT_POSITIVE_SHARE
) -> float:
    """The largest probability that this share of the positive tests reaches."""
    import numpy as np

    positive = probability[data.labels(problem).positive == 1]
    return float(np.quantile(positive, 1 - kept_share, method="lower"))


def fit_whole_table(data: Dataset, problem: Problem, seed: int) -> FittedPipeline:
    """Fit a model to the whole table, for tests that are not in it."""
    labels = learnable_labels(data, problem)
    own_seed = seed_for(seed, PIPELINE.name, problem.value, "all")
    return fit_pipeline(PIPELINE, data.values[labels.domain], labels.positive, own_seed)
