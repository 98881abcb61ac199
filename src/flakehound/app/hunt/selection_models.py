"""The models that select the tests of a hunt (CANNIER), and how they are trained on a user's own table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from flakehound.core.errors import FailedStep, attempt
from flakehound.learn.measured.assisted_reruns import (
    Aim,
    ProbabilityModel,
    Thresholds,
    candidate_threshold,
    fit_whole_table,
    sweep_thresholds,
)
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.problems import Problem

PAIR_PROBLEMS = (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST)


@dataclass(frozen=True, slots=True, kw_only=True)
class ThresholdModel:
    """Classifies tests outside its two thresholds; those between them have to be run."""

    model: ProbabilityModel
    thresholds: Thresholds

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, aim: Aim, seed: int) -> ThresholdModel:
        """Train on one table."""
        return cls(
            model=fit_whole_table(data, problem, seed),
            thresholds=sweep_thresholds(data, problem, seed).thresholds(aim),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class CandidateModel:
    """Finds the possible victims, or the possible polluters, of pairs."""

    model: ProbabilityModel
    min_probability: float  # of a candidate

    @classmethod
    def trained(cls, data: Dataset, problem: Problem, seed: int) -> CandidateModel:
        """Train on one table."""
        return cls(
            model=fit_whole_table(data, problem, seed), min_probability=candidate_threshold(data, problem, seed)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionModels:
    """The models that one table gives."""

    features: tuple[str, ...]  # that the models need of each test
    reruns: ThresholdModel
    kinds: ThresholdModel | FailedStep  # FailedStep: the table has too few tests for this model
    pairs: Mapping[Problem, CandidateModel]  # without models for which the table has too few tests
    note: str = ""  # what the report says about the table


def models_from_table(data: Dataset, aim: Aim, seed: int) -> SelectionModels:
    """Train all models on a table of the user's own."""
    pairs = {problem: attempt(partial(CandidateModel.trained, data, problem, seed)) for problem in PAIR_PROBLEMS}
    return SelectionModels(
        features=data.features,
        reruns=ThresholdModel.trained(data, Problem.NOD_VS_REST, aim, seed),
        kinds=attempt(partial(ThresholdModel.trained, data, Problem.NOD_VS_VICTIM, aim, seed)),
        pairs={problem: model for problem, model in pairs.items() if isinstance(model, CandidateModel)},
    )
