"""Sweeps compared with the equations, point by point; Pareto fronts and their points of interest."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation.pareto import (
    PairTask,
    SingleTask,
    SweepPoints,
    knee_index,
    model_alone_index,
    pair_points,
    pareto_front,
    single_points,
    technique_alone_index,
    threshold_bins,
)
from flakehound.learn.evaluation.scores import Confusion, area_under_curve, calibration, confusion

RNG = np.random.default_rng(5)
TESTS = 60
PROBABILITY = np.round(RNG.random(TESTS), 2)
POSITIVE = (RNG.random(TESTS) < PROBABILITY).astype(int)
COST_S = RNG.random(TESTS)
TASK = SingleTask(positive=POSITIVE, technique_s=100 * COST_S, suite_s=float(COST_S.sum()))


def index_of(points, first, second, samples):
    found = np.flatnonzero(
        np.isclose(points.first, first) & np.isclose(points.second, second) & (points.samples == samples)
    )
    assert len(found) == 1
    return int(found[0])


@pytest.mark.parametrize(("lower", "upper"), [(0.0, 0.5), (0.07, 1.01), (0.3, 0.3), (0.42, 0.9), (1.0, 1.0)])
def test_a_point_of_the_single_sweep_agrees_with_equations_4_to_6(lower, upper):
    points = single_points(TASK, [(1, PROBABILITY), (2, PROBABILITY[::-1]), (2, PROBABILITY)])

    index = index_of(points, lower, upper, 1)

    label = np.where(lower > PROBABILITY, 0, np.where(upper <= PROBABILITY, 1, POSITIVE))
    between = (lower <= PROBABILITY) & (upper > PROBABILITY)
    assert points.detection[index] == pytest.approx(confusion(POSITIVE, label).mcc, nan_ok=True)
    assert points.cost_s[index] == pytest.approx((100 * COST_S)[between].sum() + COST_S.sum())


def test_the_sweep_has_every_pair_of_thresholds_and_the_technique_alone_once():
    points = single_points(TASK, [(1, PROBABILITY), (2, PROBABILITY)])

    assert len(points) == 2 * 5252 - 1
    alone = technique_alone_index(points)
    assert (points.first[alone], points.second[alone], points.samples[alone]) == (0, 1.01, 0)
    assert points.detection[alone] == 1
    assert points.cost_s[alone] == pytest.approx(100 * COST_S.sum())


def test_repeats_are_averaged():
    other = np.full(TESTS, 0.5)

    both = single_points(TASK, [(1, PROBABILITY), (1, other)])

    one, two = (single_points(TASK, [(1, chance)]) for chance in (PROBABILITY, other))
    assert np.allclose(both.cost_s, (one.cost_s + two.cost_s) / 2)


@pytest.mark.parametrize(("victim_from", "polluter_from"), [(0.1, 0.2), (0.5, 0.0), (0.99, 1.0)])
def test_a_point_of_the_pair_sweep_agrees_with_equation_8(victim_from, polluter_from):
    polluter = np.round(RNG.random(TESTS), 2)
    victims, polluters = RNG.integers(0, TESTS, 40), RNG.integers(0, TESTS, 40)
    task = PairTask(cost_s=COST_S, victims=victims, polluters=polluters)

    points = pair_points(task, [(3, PROBABILITY, polluter)])

    index = index_of(points, victim_from, polluter_from, 3)
    v, p = victim_from <= PROBABILITY, polluter >= polluter_from
    assert points.detection[index] == pytest.approx((v[victims] & p[polluters]).mean())
    paid = p.sum() * COST_S[v].sum() + v.sum() * COST_S[p].sum()
    assert points.cost_s[index] == pytest.approx(paid + 3 * COST_S.sum())
    assert points.cost_s[technique_alone_index(points)] == pytest.approx(2 * TESTS * COST_S.sum())


def test_only_tests_of_one_suite_are_paired():
    polluter = np.round(RNG.random(TESTS), 2)
    suites = (np.arange(TESTS) >= 20).astype(int)
    task = PairTask(cost_s=COST_S, victims=np.array([3, 30]), polluters=np.array([4, 31]), suites=suites)

    points = pair_points(task, [(1, PROBABILITY, polluter)])

    index = index_of(points, 0.3, 0.4, 1)
    v, p = PROBABILITY >= 0.3, polluter >= 0.4
    paid = sum(
        (p & own).sum() * COST_S[v & own].sum() + (v & own).sum() * COST_S[p & own].sum()
        for own in (suites == 0, suites == 1)
    )
    assert points.cost_s[index] == pytest.approx(paid + COST_S.sum())
    assert points.cost_s[technique_alone_index(points)] == pytest.approx(
        2 * (20 * COST_S[:20].sum() + 40 * COST_S[20:].sum())
    )


def test_a_probability_reaches_its_threshold_despite_rounding_errors():
    assert threshold_bins(np.array([0.07, 0.1 + 0.2 - 0.23, 0.29 - 1e-12, 0.0, 1.0])).tolist() == [
        7,
        7,
        29,
        0,
        100,
    ]


def points_at(*pairs):
    detection, cost_s = np.array(pairs, dtype=float).T
    first = np.arange(len(pairs), dtype=float)
    return SweepPoints(first=first, second=first + 1, samples=first + 1, detection=detection, cost_s=cost_s)


def test_the_front_has_the_points_that_no_other_point_beats():
    found = pareto_front(points_at((0.5, 10), (0.4, 20), (0.9, 30), (0.9, 25), (np.nan, 1), (0.95, 90)))

    assert list(zip(found.detection, found.cost_s, strict=True)) == [(0.5, 10), (0.9, 25), (0.95, 90)]


def test_the_knee_is_nearest_to_full_detection_at_no_cost():
    points = points_at((0.5, 1), (0.9, 11), (1.0, 100))

    assert knee_index(points) == 1


def test_the_model_alone_is_the_best_point_with_equal_thresholds():
    points = single_points(TASK, [(1, PROBABILITY)])

    best = model_alone_index(points)

    assert points.first[best] == points.second[best]
    assert points.cost_s[best] == pytest.approx(COST_S.sum())
    assert model_alone_index(points_at((0.5, 1))) is None


def test_mcc_has_a_sign_and_is_undefined_if_a_sum_is_zero():
    assert Confusion(tp=0, fp=5, fn=5, tn=0).mcc == -1
    assert Confusion(tp=3, fp=0, fn=0, tn=9).mcc == 1
    assert np.isnan(Confusion(tp=0, fp=0, fn=2, tn=3).mcc)
    assert np.isnan(Confusion(tp=0, fp=0, fn=2, tn=3).precision)


def test_confusion_matrices_of_projects_can_be_added():
    total = confusion(np.array([1, 0]), np.array([1, 1])) + confusion(np.array([1, 0]), np.array([0, 0]))

    assert (total.tp, total.fp, total.fn, total.tn) == (1, 1, 1, 1)
    assert (total.precision, total.recall, total.f1) == (0.5, 0.5, 0.5)


def test_the_area_under_the_curve_counts_ties_half():
    assert area_under_curve(np.array([1, 0, 0]), np.array([0.5, 0.5, 0.1])) == pytest.approx(0.75)
    assert np.isnan(area_under_curve(np.array([1, 1]), np.array([0.5, 0.1])))


def test_calibration_compares_predicted_with_observed_shares():
    figures = calibration(np.array([1, 0, 1, 1]), np.array([0.05, 0.05, 0.95, 1.0]))

    assert (figures["predicted"][0], figures["observed"][0]) == (0.05, 0.5)
    assert figures["tests"][9] == 2
    assert figures["error"] == pytest.approx((0.45 * 2 + 0.025 * 2) / 4)
