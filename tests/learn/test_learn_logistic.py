"""Logistic regression in the standard library: the weights are those of scikit-learn."""

from __future__ import annotations

import random

import pytest

from flakehound.core.statistics.rates import logistic
from flakehound.learn.models.logistic import constant_for, fit_logistic, solve_linear


@pytest.fixture
def table():
    """Two columns with an effect, one without; the rows have different weights."""
    draw = random.Random(5)
    columns = [[draw.gauss(0, 1) for _ in range(300)] for _ in range(3)]
    positive = [int(draw.random() < logistic(2 * a - b - 1)) for a, b, _ in zip(*columns, strict=True)]
    return columns, positive, [draw.choice((0.5, 1.0, 3.0)) for _ in positive]


def test_linear_equations_are_solved():
    assert solve_linear([[0.0, 2.0], [3.0, 1.0]], [4.0, 5.0]) == pytest.approx([1.0, 2.0])


def test_columns_with_an_effect_get_its_sign_and_others_a_small_weight(table):
    first, second, third = fit_logistic(*table, penalties=[1.0] * 3).of_columns

    assert first > 1
    assert second < -0.5
    assert abs(third) < 0.3


def test_the_weights_are_those_of_scikit_learn(table):
    linear = pytest.importorskip("sklearn.linear_model", reason="needs flakehound[learn]")
    columns, positive, row_weights = table
    peer = linear.LogisticRegression(C=1 / 7.0, tol=1e-10, max_iter=1000)
    peer.fit(list(zip(*columns, strict=True)), positive, sample_weight=row_weights)

    ours = fit_logistic(columns, positive, row_weights, penalties=[7.0] * 3)

    assert ours.of_columns == pytest.approx(peer.coef_[0], abs=1e-5)
    assert ours.constant == pytest.approx(peer.intercept_[0], abs=1e-5)


def test_a_larger_penalty_makes_the_weights_smaller(table):
    loose, tight = (fit_logistic(*table, penalties=[penalty] * 3).of_columns for penalty in (1.0, 1000.0))

    assert sum(map(abs, tight)) < sum(map(abs, loose)) / 2


def test_the_constant_gives_the_expected_number_of_positive_tests():
    odds, row_counts = [-1.0, 0.5, 2.0], [10.0, 20.0, 5.0]

    constant = constant_for(odds, row_counts, expected_positive=7.0)

    total = sum(count * logistic(constant + own) for own, count in zip(odds, row_counts, strict=True))
    assert total == pytest.approx(7.0)
