"""Thresholds from a table: they keep what they promise on it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import drawn

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
    """Tests whose first feature tells the NOD ones, with noise; a few of the others fail shuffled only."""
    table = drawn(tests=240, noise=1.3)
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


def test_more_quality_costs_more_and_loses_less(sweep):
    good, better = (sweep.thresholds(Aim(detection=detection)) for detection in (0.6, 0.95))

    assert better.detection >= 0.95 > good.detection >= 0.6
    assert better.cost > good.cost
    assert better.lost <= good.lost


def test_a_cost_is_kept_to_and_the_knee_lies_between_the_ends(sweep):
    cheap, knee = sweep.thresholds(Aim(cost=0.1)), sweep.thresholds(Aim())

    assert cheap.cost <= 0.1
    assert 0 < knee.cost < 1
    assert knee.lower <= knee.upper


def test_kinds_are_learned_from_the_tests_that_failed_shuffled(data):
    found = sweep_thresholds(data, Problem.NOD_VS_VICTIM, seed=1).thresholds(Aim())

    assert 0 < found.detection <= 1


def test_candidates_are_most_of_the_positive_tests_and_few_of_the_others(data):
    least = candidate_threshold(data, Problem.NOD_VS_REST, seed=1, kept_share=0.9)
    said = fit_whole_table(data, Problem.NOD_VS_REST, seed=1).probability(data.values) >= least

    assert said[data.label == 1].mean() >= 0.9
    assert said[data.label == 0].mean() < 0.8


def test_a_table_without_costs_is_refused(data):
    with pytest.raises(UnusableData, match="no column of costs"):
        sweep_thresholds(replace(data, cost_s=None), Problem.NOD_VS_REST, seed=1)
