"""Logistic regression with a quadratic penalty, with the standard library only.

Sums are exact (`math.fsum`), so every Python version on every machine finds the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from flakehound.core.statistics.rates import logistic

_MAX_STEPS = 50
_CONVERGED_STEP = 1e-9  # a smaller step of Newton's method ends the search
# While each step is that much smaller than the last, the second derivatives of an earlier one serve as well; they
# are what takes time.
_FAST_SHRINKING = 0.3
_CONSTANT_PENALTY = 1e-9  # tiny; with it there is a solution even if all rows are of one class


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearWeights:
    """A linear function whose value is the log odds."""

    constant: float
    of_columns: tuple[float, ...]


def fit_logistic(
    columns: Sequence[Sequence[float]],
    positive: Sequence[int],
    row_weights: Sequence[float],
    penalties: Sequence[float],
) -> LinearWeights:
    """Find the weights that explain best which rows are positive, by Newton's method.

    `row_weights` says how much each row counts. There is one penalty on the squared weight of each column.
    """
    table = [[1.0] * len(positive), *columns]
    all_penalties = [_CONSTANT_PENALTY, *penalties]
    weights = [0.0] * len(table)
    hessian: list[list[float]] = []
    last_step = math.inf
    for _ in range(_MAX_STEPS):
        chances = [logistic(odds) for odds in log_odds(table, weights)]
        errors = [
            row_weight * (label - chance)
            for row_weight, label, chance in zip(row_weights, positive, chances, strict=True)
        ]
        gradient = [
            _dot(errors, column) - penalty * weight
            for column, penalty, weight in zip(table, all_penalties, weights, strict=True)
        ]
        step = solve_linear(hessian, gradient) if hessian else []
        if not step or max(map(abs, step)) > _FAST_SHRINKING * last_step:
            hessian = _hessian(table, _curvatures(row_weights, chances), all_penalties)
            step = solve_linear(hessian, gradient)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        last_step = max(map(abs, step))
        if last_step < _CONVERGED_STEP:
            break
    return LinearWeights(constant=weights[0], of_columns=tuple(weights[1:]))


def log_odds(columns: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """For each row, the sum of its values times the weights."""
    sums = [0.0] * len(columns[0])
    for weight, column in zip(weights, columns, strict=True):
        sums = [total + weight * value for total, value in zip(sums, column, strict=True)]
    return sums


def constant_for(odds: Sequence[float], row_counts: Sequence[float], expected_positive: float) -> float:
    """The constant to add to all log odds so that the expected number of positive tests is this.

    Each row stands for `row_counts` tests.
    """
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        total = _dot([logistic(middle + own) for own in odds], row_counts)
        low, high = (low, middle) if total > expected_positive else (middle, high)
    return low


def solve_linear(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Solve a system of linear equations by elimination with pivots."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for n in range(size):
        pivot = max(range(n, size), key=lambda row: abs(rows[row][n]))
        rows[n], rows[pivot] = rows[pivot], rows[n]
        for other in range(size):
            if other != n and rows[other][n]:
                factor = rows[other][n] / rows[n][n]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[n], strict=True)]
    return [rows[n][size] / rows[n][n] for n in range(size)]


def _curvatures(row_weights: Sequence[float], chances: Sequence[float]) -> list[float]:
    return [row_weight * chance * (1 - chance) for row_weight, chance in zip(row_weights, chances, strict=True)]


def _hessian(
    table: Sequence[Sequence[float]], curvatures: Sequence[float], penalties: Sequence[float]
) -> list[list[float]]:
    size = len(table)
    matrix = [[0.0] * size for _ in range(size)]
    for n, column in enumerate(table):
        weighted = list(map(mul, curvatures, column))
        for other in range(n, size):
            matrix[n][other] = matrix[other][n] = _dot(weighted, table[other])
        matrix[n][n] += penalties[n]
    return matrix


def _dot(left: Iterable[float], right: Iterable[float]) -> float:
    return math.fsum(map(mul, left, right))
