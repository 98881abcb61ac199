"""Tests with their labels and lint's findings, and the fit of the weights of `flakehound lint --score rules`."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from flaky_sources import is_held_out

from flakehound.core.statistics.rates import logistic
from flakehound.learn.models.logistic import solve_linear
from flakehound.lint.scoring.rule_weights import signals

PENALTY = 333.0  # on squared weights of signals with a deviation of 1; chosen in the folds
NEWTON_STEPS = 12
FLAKY_LABELS = ("nod", "od")


@dataclass(frozen=True, slots=True)
class ScoredFinding:
    """The part of a finding that the score uses."""

    rule: str
    cause: str


@dataclass(frozen=True, kw_only=True)
class LintedTest:
    """One test with its label and lint's findings about it."""

    project: str
    id: str
    label: str  # "nod", "od", "infrastructure", "" for tests that never flaked
    rules: list[str]
    causes: list[str]  # of the findings, the first finding first
    metrics: dict[str, float | None]

    @cached_property
    def signals(self) -> dict[str, float]:
        """The inputs of the score."""
        return signals(map(ScoredFinding, self.rules, self.causes), self.metrics)

    @property
    def is_flaky(self) -> bool:
        """Whether the study saw it flake for a reason other than the infrastructure."""
        return self.label in FLAKY_LABELS

    @property
    def held_out(self) -> bool:
        """Whether its project is not used for tuning."""
        return is_held_out(self.project)


def scores_of(tests: Sequence[LintedTest], weights: Mapping[str, float]) -> list[float]:
    """The log odds of each test by these weights."""
    return [
        weights.get("", 0.0) + sum(weights.get(name, 0.0) * value for name, value in test.signals.items())
        for test in tests
    ]


def fit_weights(tests: Sequence[LintedTest]) -> dict[str, float]:
    """Logistic regression of "flaky" on the signals, with a quadratic penalty, by Newton's method.

    One project with hundreds of flaky tests must not dominate. The order-dependent tests of a project weigh as one
    test, because one polluter makes many victims; its NOD tests weigh as the square root of their number.
    """
    known = [test for test in tests if test.label != "infrastructure"]
    names = list(signals([], {}))
    mean = {name: statistics.fmean(test.signals[name] for test in known) for name in names}
    deviation = {name: statistics.pstdev([test.signals[name] for test in known]) or 1.0 for name in names}
    samples = [
        _Sample(
            inputs=[1.0, *((test.signals[name] - mean[name]) / deviation[name] for name in names)],
            is_flaky=test.is_flaky,
            weight=weight,
        )
        for test, weight in zip(known, _sample_weights(known), strict=True)
    ]
    coefficients = [0.0] * (len(names) + 1)
    for _ in range(NEWTON_STEPS):
        gradient, curvature = _derivatives(samples, coefficients, PENALTY)
        step = solve_linear(curvature, gradient)
        coefficients = [value + change for value, change in zip(coefficients, step, strict=True)]
    weights = {name: coefficients[column] / deviation[name] for column, name in enumerate(names, 1)}
    return {"": _constant(known, weights), **weights}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sample:
    inputs: list[float]  # the constant 1 first
    is_flaky: bool
    weight: float


def _sample_weights(tests: Sequence[LintedTest]) -> list[float]:
    """The weight of each test in the fit; the mean is 1."""
    counts = Counter((test.project, test.label) for test in tests)
    power = {"nod": 0.5, "od": 1.0, "": 0.0}
    weights = [counts[test.project, test.label] ** -power[test.label] for test in tests]
    mean = statistics.fmean(weights)
    return [weight / mean for weight in weights]


def _constant(tests: Sequence[LintedTest], weights: Mapping[str, float]) -> float:
    """The constant for which the mean probability is the share of flaky tests, without sample weights."""
    flaky = sum(test.is_flaky for test in tests)
    sums = [sum(weights[name] * value for name, value in test.signals.items()) for test in tests]
    low, high = -20.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (low, middle) if sum(logistic(middle + value) for value in sums) > flaky else (middle, high)
    return low


def _derivatives(
    samples: Sequence[_Sample], coefficients: Sequence[float], penalty: float
) -> tuple[list[float], list[list[float]]]:
    """Gradient and negative second derivative of the penalised log likelihood; the constant has no penalty."""
    size = len(coefficients)
    gradient = [-penalty * value if column else 0.0 for column, value in enumerate(coefficients)]
    curvature = [[(penalty if row else 1e-6) * (row == column) for column in range(size)] for row in range(size)]
    for sample in samples:
        chance = logistic(sum(c * value for c, value in zip(coefficients, sample.inputs, strict=True)))
        slope = sample.weight * (sample.is_flaky - chance)
        bend = sample.weight * chance * (1 - chance)
        for row, value in enumerate(sample.inputs):
            gradient[row] += slope * value
            line = curvature[row]
            for column, other in enumerate(sample.inputs):
                line[column] += bend * value * other
    return gradient, curvature
