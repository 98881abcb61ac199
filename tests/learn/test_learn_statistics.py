"""Statistics against small cases that can be worked out by hand, or against a library."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from learn_samples import drawn

from flakehound.learn.evaluation import metric_statistics as ours


def test_cliff_s_delta_counts_pairs():
    values = np.array([[3.0], [4.0], [1.0], [4.0]])

    (found,) = ours.metric_differences(["size"], values, np.array([1, 1, 0, 0]))

    # of four pairs two are larger, one is smaller, one is equal
    assert found.delta == pytest.approx((2 - 1) / 4)


def test_the_metric_that_tells_comes_first_and_the_others_are_negligible_or_small():
    data = drawn(tests=400)

    found = ours.metric_differences(data.features, data.values, data.label)

    assert found[0].feature == "signal"
    assert (found[0].size, found[0].corrected < 1e-6) == ("large", True)
    assert found[0].gain > max(one.gain for one in found[1:])
    assert found[0].spearman > 0.3


def test_holm_is_stepwise_and_never_falls():
    assert ours.holm_correction([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert ours.holm_correction([0.9, 0.8]) == [1.0, 1.0]


@pytest.mark.parametrize(
    ("delta", "word"), [(0.1, "negligible"), (-0.2, "small"), (0.4, "medium"), (-0.5, "large")]
)
def test_effects_have_words(delta, word):
    assert ours.effect_size_word(delta) == word


def test_a_metric_that_is_the_label_gives_all_its_information():
    label = np.array([0, 1] * 50)

    assert ours.information_gain(label.astype(float), label) == pytest.approx(1)
    assert ours.information_gain(np.ones(100), label) == 0


def test_collinear_metrics_are_dropped_until_none_is_left():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 200))
    values = np.column_stack([a, b, a + b, np.ones(200)])

    kept = ours.without_collinear(["a", "b", "sum", "one"], values)

    assert len(kept) == 2
    assert "one" not in kept
    assert max(kept.values()) <= 5
    assert np.isinf(ours.variance_inflation(values[:, :3])).all()


def test_a_logistic_regression_finds_the_metric_that_matters():
    pytest.importorskip("statsmodels", reason="needs flakehound[study]")
    data = drawn(tests=400)

    found = ours.logistic_weights(data.features, data.values, data.label)

    assert found["signal"].weight > 1
    assert found["signal"].p_value < 0.001
    assert abs(found["noise"].weight) < 0.5


def test_ranks_put_the_best_first_and_the_distance_is_nemenyi_s():
    rng = np.random.default_rng(1)
    base = rng.random(10)

    found = ours.nemenyi_ranks({"good": base + 2, "fair": base + 1, "bad": base})

    assert found.mean == {"good": 1.0, "fair": 2.0, "bad": 3.0}
    assert found.critical_distance == pytest.approx(2.343 * (3 * 4 / 60) ** 0.5, abs=0.001)
    assert found.friedman_p < 0.001


def test_overlap_adds_up_to_one():
    found = ours.overlap(np.array([True, True, False, False]), np.array([True, False, True, False]))

    assert asdict(found) == pytest.approx({"both": 1 / 3, "first_alone": 1 / 3, "second_alone": 1 / 3})
