"""Thresholds that are learned from a table have the promised detection and cost on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.learn.measured import assisted_reruns
from flakehound.learn.measured.assisted_reruns import Aim, candidate_threshold, fit_whole_table, sweep_thresholds
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.problems import OutcomeCounts, Problem


@pytest.fixture(scope="module", autouse=True)
def _few_trees():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(assisted_reruns, "PIPELINE", replace(assisted_reruns.PIPELINE, trees=15))
        yield


@pytest.fixture(scope="module")
def data():
    """Tests whose first feature separates NOD tests, with noise; some of the others fail only when shuffled."""
    table = draw_table(tests=240, noise=1.3)
    runs, victim = np.full(240, 200), (np.arange(240) % 5 == 0) & (table.label == 0)
    counts = OutcomeCounts(
        original_runs=runs,
        original_failed=np.where(table.label == 1, 40, 0),
        shuffled_runs=runs,
        shuffled_failed=np.where(table.label == 1, 40, np.where(victim, 60, 0)),
    )
    return replace(table, counts=counts, cost_s=np.full(240, 0.02))


@pytest.fixture(scope="module")
def sweep(data):
    return sweep_thresholds(data, Problem.NOD_VS_REST, seed=1)


def test_better_detection_costs_more_and_loses_fewer_tests(sweep):
    good, better = (sweep.thresholds(Aim(detection=detection)) for detection in (0.6, 0.95))

    assert better.detection >= 0.95 > good.detection >= 0.6
    assert better.cost > good.cost
    assert better.lost <= good.lost


def test_a_cost_limit_is_kept_and_the_knee_is_between_the_ends_of_the_front(sweep):
    cheap, knee = sweep.thresholds(Aim(cost=0.1)), sweep.thresholds(Aim())

    assert cheap.cost <= 0.1
    assert 0 < knee.cost < 1
    assert knee.lower <= knee.upper


def test_nod_tests_are_separated_from_victims(data):
    found = sweep_thresholds(data, Problem.NOD_VS_VICTIM, seed=1).thresholds(Aim())

    assert 0 < found.detection <= 1


def test_candidates_are_most_positive_tests_and_not_all_others(data):
    threshold = candidate_threshold(data, Problem.NOD_VS_REST, seed=1, kept_share=0.9)
    is_candidate = fit_whole_table(data, Problem.NOD_VS_REST, seed=1).probability(data.values) >= threshold

    assert is_candidate[data.label == 1].mean() >= 0.9
    assert is_candidate[data.label == 0].mean() < 0.8


def test_a_table_without_costs_is_an_error(data):
    with pytest.raises(UnusableData, match="no column of costs"):
        sweep_thresholds(replace(data, cost_s=None), Problem.NOD_VS_REST, seed=1)
