"""Statistics of metrics, compared with small cases computed by hand or with a library."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.learn.evaluation import metric_statistics


def test_cliff_s_delta_counts_pairs():
    values = np.array([[3.0], [4.0], [1.0], [4.0]])

    (found,) = metric_statistics.metric_differences(["size"], values, np.array([1, 1, 0, 0]))

    # In two of four pairs the positive test is larger, in one smaller, in one equal.
    assert found.delta == pytest.approx((2 - 1) / 4)


def test_the_informative_metric_comes_first():
    data = draw_table(tests=400)

    found = metric_statistics.metric_differences(data.features, data.values, data.label)

    assert found[0].feature == "signal"
    assert (found[0].size, found[0].corrected < 1e-6) == ("large", True)
    assert found[0].gain > max(one.gain for one in found[1:])
    assert found[0].spearman > 0.3


def test_holms_correction_is_stepwise_and_never_falls():
    assert metric_statistics.holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert metric_statistics.holm_correction([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("delta", "word"), [(0.1, "negligible"), (-0.2, "small"), (0.4, "medium"), (-0.5, "large")]
)
def test_effect_sizes_have_words(delta, word):
    assert metric_statistics.effect_size_word(delta) == word


def test_a_metric_that_equals_the_label_has_all_its_information():
    label = np.array([0, 1] * 50)

    assert metric_statistics.information_gain(label.astype(float), label) == pytest.approx(1)
    assert metric_statistics.information_gain(np.ones(100), label) == 0


def test_collinear_metrics_are_dropped():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200))
    values = np.column_stack([a, b, a + b, np.ones(200)])

    factors = metric_statistics.without_collinear(["a", "b", "sum", "one"], values)

    assert len(factors) == 2
    assert "one" not in factors
    assert max(factors.values()) <= 5
    assert np.isinf(metric_statistics.variance_inflation(values[:, :3])).all()


def test_a_logistic_regression_finds_the_informative_metric():
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")
    data = draw_table(tests=400)

    found = metric_statistics.logistic_weights(data.features, data.values, data.label)

    assert found["signal"].weight > 1
    assert found["signal"].p_value < 0.001
    assert abs(found["noise"].weight) < 0.5


def test_the_best_has_the_lowest_rank_and_the_critical_distance_is_that_of_nemenyi():
    rng = np.random.default_rng(1)
    base = rng.random(10)

    found = metric_statistics.nemenyi_ranks({"good": base + 2, "fair": base + 1, "bad": base})

    assert found.mean == {"good": 1.0, "fair": 2.0, "bad": 3.0}
    assert found.critical_distance == pytest.approx(2.343 * (3 * 4 / 60) ** 0.5, abs=0.001)
    assert found.friedman_p < 0.001


def test_the_shares_of_an_overlap_add_up_to_one():
    found = metric_statistics.overlap(np.array([True, True, False, False]), np.array([True, False, True, False]))

    assert asdict(found) == pytest.approx({"both": 1 / 3, "first_alone": 1 / 3, "second_alone": 1 / 3})
