"""The costs of rerunning techniques compared with the published tables."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.core.statistics.rerun_model import OutcomeChances, expected_reruns
from flakehound.learn.evaluation.rerun_costs import classification_costs, pairwise_cost, rerun_costs
from flakehound.learn.tables.published_projects import published_projects

PROJECTS = published_projects()
ROUNDING = 0.011  # both the cost and the product are printed with three digits


def test_each_test_costs_its_expected_reruns_and_a_steady_one_the_most():
    cost_s, failed, runs = np.array([2.0, 3.0, 0.5]), np.array([20, 0, 7]), np.array([100, 100, 7])

    found_s = rerun_costs(cost_s, failed, runs, 60)

    reruns = expected_reruns(OutcomeChances.from_failure_rate(0.2), 60)
    assert found_s == pytest.approx([2.0 * reruns, 3.0 * 60, 0.5 * 60])


def test_a_test_without_runs_counts_as_steady():
    assert rerun_costs(np.array([2.0]), np.array([0]), np.array([0]), 10)[0] == 20.0


def test_there_are_30_published_projects_with_the_published_totals():
    assert len(PROJECTS) == 30
    assert sum(project.tests for project in PROJECTS) == 89_668
    assert sum(project.pairs for project in PROJECTS) == 194_457
    assert sum(project.rerun_original_s for project in PROJECTS) == pytest.approx(4.91e7, rel=ROUNDING)
    assert sum(project.classification_original_s for project in PROJECTS) == pytest.approx(9.98e7, rel=ROUNDING)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.project)
def test_original_rerun_costs_what_table_8_says(project):
    steady_s = rerun_costs(np.array([project.cost_s]), np.array([0]), np.array([2500]), 2500)[0]

    if project.nod:  # how much less depends on the failure rates of the NOD tests, which are not published
        assert project.rerun_original_s < steady_s * (1 + ROUNDING)
    else:
        assert steady_s == pytest.approx(project.rerun_original_s, rel=ROUNDING)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.project)
def test_original_classification_costs_what_table_9_allows(project):
    once_s, always_s = classification_costs(project.cost_s, np.array([1, 2500])) * project.classified

    assert once_s * (1 - ROUNDING) <= project.classification_original_s <= always_s


def test_a_test_that_failed_once_is_classified_once():
    tornado = next(project for project in PROJECTS if project.project == "tornado")

    assert classification_costs(tornado.cost_s, 1) == pytest.approx(tornado.classification_original_s)


@pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.project)
def test_original_pairwise_costs_what_table_10_says(project):
    cost_s = pairwise_cost(project.tests, project.cost_s, project.tests, project.cost_s)

    assert cost_s == pytest.approx(project.pairwise_original_s, rel=ROUNDING)
