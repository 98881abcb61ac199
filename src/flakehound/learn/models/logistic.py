"""Logistic regression with a quadratic penalty, in the standard library alone.

Sums are exact (`math.fsum`), so that every Python on every machine finds the same weights.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from flakehound.core.statistics.rates import probability

_MOST_STEPS = 50
_CLOSE = 1e-9  # a step of this size ends the search


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """A linear form whose value is the log odds."""

    constant: float
    of_columns: tuple[float, ...]


def fit_logistic(
    columns: Sequence[Sequence[float]], wanted: Sequence[int], shares: Sequence[float], penalties: Sequence[float]
) -> Weights:
    """The weights that explain best which rows are wanted, by Newton's method.

    `shares` says how much each row counts. The penalties are on squared weights, one for each column.
    """
    table = [[1.0] * len(wanted), *columns]
    held_back = [1e-9, *penalties]  # the tiny one: rows of one class only have a solution, too
    weights = [0.0] * len(table)
    for _ in range(_MOST_STEPS):
        chances = [probability(one) for one in log_odds(table, weights)]
        slopes = [share * (yes - chance) for share, yes, chance in zip(shares, wanted, chances, strict=True)]
        bends = [share * chance * (1 - chance) for share, chance in zip(shares, chances, strict=True)]
        gradient = [
            _product(slopes, column) - held * weight
            for column, held, weight in zip(table, held_back, weights, strict=True)
        ]
        step = solve_linear(_curvature(table, bends, held_back), gradient)
        weights = [weight + change for weight, change in zip(weights, step, strict=True)]
        if max(map(abs, step)) < _CLOSE:
            break
    return Weights(constant=weights[0], of_columns=tuple(weights[1:]))


def log_odds(columns: Sequence[Sequence[float]], weights: Sequence[float]) -> list[float]:
    """For each row the sum of its values times the weights."""
    found = [0.0] * len(columns[0])
    for weight, column in zip(weights, columns, strict=True):
        found = [one + weight * value for one, value in zip(found, column, strict=True)]
    return found


def constant_for(scores: Sequence[float], rows: Sequence[float], wanted: float) -> float:
    """What to add to all log odds so that the probabilities, each counted for so many rows, add up to `wanted`."""
    low, high = -40.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        total = _product([probability(middle + one) for one in scores], rows)
        low, high = (low, middle) if total > wanted else (middle, high)
    return low


def solve_linear(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of linear equations, by elimination with pivots."""
    rows = [[*line, value] for line, value in zip(matrix, right, strict=True)]
    size = len(rows)
    for place in range(size):
        best = max(range(place, size), key=lambda one: abs(rows[one][place]))
        rows[place], rows[best] = rows[best], rows[place]
        for other in range(size):
            if other != place and rows[other][place]:
                factor = rows[other][place] / rows[place][place]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[place], strict=True)]
    return [rows[place][size] / rows[place][place] for place in range(size)]


def _curvature(
    table: Sequence[Sequence[float]], bends: Sequence[float], penalties: Sequence[float]
) -> list[list[float]]:
    size = len(table)
    found = [[0.0] * size for _ in range(size)]
    for place, column in enumerate(table):
        bent = list(map(mul, bends, column))
        for other in range(place, size):
            found[place][other] = found[other][place] = _product(bent, table[other])
        found[place][place] += penalties[place]
    return found


def _product(left: Iterable[float], right: Iterable[float]) -> float:
    return math.fsum(map(mul, left, right))
