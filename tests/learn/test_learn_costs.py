"""The cost model against its equations, a simulation, and the published tables."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.app.data.tables import read_table
from flakehound.learn.evaluation.rerun_costs import (
    classification_costs,
    expected_reruns,
    expected_runs_to_unveil,
    pairwise_cost,
    rerun_costs,
    runs_for_certainty,
    unveiled,
)
from flakehound.learn.tables.published_projects import published_projects

PROJECTS = published_projects()
ROUNDED = 0.011  # both the cost and the product are printed with three digits
RATES = [0.001, 0.01, 0.2, 0.5, 0.9, 0.9999]


def by_equation_6(rate, most):
    """The sum as the source writes it."""

    def exact(x):
        return rate ** (x - 1) * (1 - rate) + (1 - rate) ** (x - 1) * rate

    inner = sum(x * exact(x) for x in range(2, most))
    rest = 1 - sum(exact(x) for x in range(2, most))
    return inner + most * rest


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("most", [2, 3, 30, 400])
def test_expected_reruns_are_those_of_equation_6(rate, most):
    assert expected_reruns(rate, most) == pytest.approx(by_equation_6(rate, most), rel=1e-9)


@pytest.mark.parametrize("rate", [0.02, 0.5, 0.95])
def test_expected_reruns_equal_a_simulation(rate):
    rng = np.random.default_rng(3)
    failed = rng.random((20_000, 60)) < rate
    mixed = (failed != failed[:, :1]).cumsum(axis=1) > 0
    needed = np.where(mixed.any(axis=1), mixed.argmax(axis=1) + 1, 60)

    assert expected_reruns(rate, 60) == pytest.approx(needed.mean(), abs=4 * needed.std() / np.sqrt(len(needed)))


@pytest.mark.parametrize("rate", [0.0, 1.0])
def test_a_test_with_one_outcome_only_is_rerun_as_often_as_allowed(rate):
    assert expected_reruns(rate, 2500) == 2500


@pytest.mark.parametrize("rate", RATES)
def test_both_sources_count_the_same_reruns_where_nothing_is_skipped(rate):
    assert expected_runs_to_unveil(rate, 1 - rate, 50) == pytest.approx(expected_reruns(rate, 50))


def test_skipped_runs_make_it_longer():
    assert expected_runs_to_unveil(0.1, 0.4, 50) > expected_runs_to_unveil(0.1, 0.9, 50)


def test_runs_for_certainty_are_the_least_that_reach_it():
    rates = np.array([0.5, 0.1, 0.0175, 0.001])

    runs = runs_for_certainty(rates, 1 - rates)

    assert (unveiled(rates, 1 - rates, runs) >= 0.95).all()
    assert (unveiled(rates, 1 - rates, runs - 1) < 0.95).all()
    assert runs_for_certainty(np.array([0.0]), np.array([1.0]), most=1000)[0] == 1000


def test_there_are_30_published_projects_with_the_published_totals():
    assert len(PROJECTS) == 30
    assert sum(one.tests for one in PROJECTS) == 89_668
    assert sum(one.pairs for one in PROJECTS) == 194_457
    assert sum(one.rerun_original_s for one in PROJECTS) == pytest.approx(4.91e7, rel=ROUNDED)
    assert sum(one.classification_original_s for one in PROJECTS) == pytest.approx(9.98e7, rel=ROUNDED)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.project)
def test_original_rerun_costs_what_table_8_says(project):
    steady_s = rerun_costs(np.array([project.cost_s]), np.array([0]), np.array([2500]), 2500)[0]

    if project.nod:  # how much less depends on the NOD tests' rates, which are not published
        assert project.rerun_original_s < steady_s * (1 + ROUNDED)
    else:
        assert steady_s == pytest.approx(project.rerun_original_s, rel=ROUNDED)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.project)
def test_original_classification_costs_what_table_9_allows(project):
    once, always = classification_costs(project.cost_s, np.array([1, 2500])) * project.classified

    assert once * (1 - ROUNDED) <= project.classification_original_s <= always


def test_a_test_that_failed_once_is_classified_once():
    tornado = next(one for one in PROJECTS if one.project == "tornado")

    assert classification_costs(tornado.cost_s, 1) == pytest.approx(tornado.classification_original_s)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda one: one.project)
def test_original_pairwise_costs_what_table_10_says(project):
    cost_s = pairwise_cost(project.tests, project.cost_s, project.tests, project.cost_s)

    assert cost_s == pytest.approx(project.pairwise_original_s, rel=ROUNDED)


def test_gruber_s_nod_tests_need_170_reruns_in_the_median(published):
    counts = read_table(published("python_flaky"), "python_nod").counts
    rate = counts.original_failed / counts.original_runs

    assert len(rate) == 720
    assert np.median(runs_for_certainty(rate, 1 - rate)) == 170
