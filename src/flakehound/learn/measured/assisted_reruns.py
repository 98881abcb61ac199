"""Thresholds of model-assisted rerunning, learned from a table, and what a model says of other tests.

A single model leaves to the technique only the tests whose probability lies between two thresholds (CANNIER §3);
two models name the possible victims and the possible polluters of pairs.
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

# CANNIER's best for NOD-vs-Rest.
PIPELINE = Pipeline(classifier="extra-trees", trees=100, balancing="smote")
MOST_RUNS = 200  # of one test by RERUN, where costs are compared
PAIRS_FOUND = 0.95  # of victims, and of polluters, that must stay among the candidates


class ProbabilityModel(Protocol):
    """Anything that says how likely tests are positive."""

    def probability(self, values: Array) -> Array:
        """For each row of features."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Aim:
    """Which point of the front is wanted; the knee where nothing is named."""

    detection: float | None = None  # MCC that must be reached, as cheaply as possible
    cost: float | None = None  # share of the technique's own cost that may be spent, as well as possible


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Two thresholds, and what they did to the table they were learned from."""

    lower: float  # below it a test is taken for negative: steady, or a victim
    upper: float  # from it on a test is taken for NOD without a run; above 1: none is
    detection: float  # MCC
    cost: float  # share of the technique's own cost, features included
    lost: float  # share of the NOD tests below the lower one


def single_task(data: Dataset, labels: Labels, most: int) -> SingleTask:
    """What RERUN spends on each test, or Classification, where the problem is to tell NOD tests from victims."""
    counts, cost_s = data.counts, data.cost_s
    if counts is None or cost_s is None:
        raise UnusableData(f"{data.name!r} has no outcome counts or no column of costs, which a sweep needs")
    if labels.problem is Problem.NOD_VS_VICTIM:
        technique_s = classification_costs(_suites_s(data), counts.shuffled_failed)
    else:
        technique_s = rerun_costs(cost_s, counts.original_failed, counts.original_runs, most)
    return SingleTask(
        positive=labels.positive, technique_s=technique_s[labels.domain], suite_s=float(cost_s.sum())
    )


def _suites_s(data: Dataset) -> Array:
    """For each test what one run of its project costs."""
    import numpy as np

    _names, place = np.unique(data.projects.astype(str), return_inverse=True)
    return np.bincount(place, weights=data.cost_s)[place]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """Every pair of thresholds on one table, judged by models that never saw the test they predict."""

    points: SweepPoints
    probability: Array  # of each test that can be positive or negative
    positive: Array

    def with_proof(self) -> Sweep:
        """The same without the points that take a test for positive and do not run it."""
        import numpy as np

        return replace(self, points=self.points.select(np.flatnonzero(self.points.second > 1)))

    def thresholds(self, aim: Aim) -> Thresholds:
        """Those that serve the aim."""
        best, whole_s = pareto_front(self.points), float(self.points.cost_s[technique_alone_index(self.points)])
        place = _aimed(best, aim, whole_s)
        lower = float(best.first[place])
        return Thresholds(
            lower=lower,
            upper=float(best.second[place]),
            detection=float(best.detection[place]),
            cost=float(best.cost_s[place] / whole_s),
            lost=float((self.probability[self.positive == 1] < lower).mean()),
        )


def sweep_thresholds(data: Dataset, problem: Problem, seed: int) -> Sweep:
    """All thresholds for RERUN or Classification, judged by cross-validation."""
    _task(data, problem)  # refuses what cannot be swept before a model is trained
    return sweep_predictions(data, problem, unseen_probabilities(data, problem, seed))


def _task(data: Dataset, problem: Problem) -> SingleTask:
    return single_task(data, learnable_labels(data, problem), MOST_RUNS)


def unseen_probabilities(data: Dataset, problem: Problem, seed: int) -> Array:
    """What a model that never saw the test says, for each test of the problem's domain."""
    import numpy as np

    found = cross_validate(data, problem, PIPELINE, split=BY_CHANCE, seed=seed)
    return np.nan_to_num(found.probability, nan=1.0)  # not predicted: left to the technique


def sweep_predictions(data: Dataset, problem: Problem, probability: Array) -> Sweep:
    """All thresholds on such predictions."""
    task = _task(data, problem)
    points = single_points(task, [(1, probability)])
    return Sweep(points=points, probability=probability, positive=task.positive)


def _aimed(best: SweepPoints, aim: Aim, whole_s: float) -> int:
    """The place on the front; where an aim cannot be reached, the nearest point."""
    import numpy as np

    if aim.detection is not None:
        enough = np.flatnonzero(best.detection >= aim.detection)
        return int(enough[0]) if len(enough) else len(best) - 1
    if aim.cost is not None:
        affordable = np.flatnonzero(best.cost_s <= aim.cost * whole_s)
        return int(affordable[-1]) if len(affordable) else 0
    return knee_index(best)


def candidate_threshold(data: Dataset, problem: Problem, seed: int, kept: float = PAIRS_FOUND) -> float:
    """The least probability of a candidate, by models that never saw the test."""
    return lowest_candidate_probability(data, problem, unseen_probabilities(data, problem, seed), kept)


def lowest_candidate_probability(
    data: Dataset, problem: Problem, probability: Array, kept: float = PAIRS_FOUND
) -> float:
    """The largest probability that this share of the positive tests reaches."""
    import numpy as np

    positive = probability[data.labels(problem).positive == 1]
    return float(np.quantile(positive, 1 - kept, method="lower"))


def fit_whole_table(data: Dataset, problem: Problem, seed: int) -> FittedPipeline:
    """A model of the whole table, for tests that are not in it."""
    labels = learnable_labels(data, problem)
    own_seed = seed_for(seed, PIPELINE.name, problem.value, "all")
    return fit_pipeline(PIPELINE, data.values[labels.domain], labels.positive, own_seed)
