"""The model for unseen projects is chosen by the other projects, and is better than chance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.learn.evaluation.model_choice import BY_AREA, CHOICE_RULES, ChoiceRule
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.evaluation.unseen_projects import (
    BOTH,
    METRICS,
    WORDS,
    UnseenProjects,
    all_candidates,
    class_or_file,
    with_group_means,
)

PROJECTS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def data():
    """Flaky tests have a larger first metric and mostly the word sleep; each project measures in its own unit."""
    found = draw_table(tests=200, projects=PROJECTS, share=0.15, seed=3)
    unit = np.array([1 + 5 * PROJECTS.index(name) for name in found.projects])
    rng = np.random.default_rng(1)
    words = tuple("sleep run" if rng.random() < (0.8 if label else 0.1) else "run" for label in found.label)
    return replace(found, values=found.values * unit[:, None], words=words)


@pytest.mark.parametrize("inputs", [(METRICS,), (WORDS,), (BOTH,)])
def test_flaky_tests_of_an_unseen_project_are_recognised(data, inputs):
    found = UnseenProjects(data=data, positive=data.label, inputs=inputs).predict()

    assert area_under_curve(data.label, found.probability) > 0.7
    assert data.label[found.predicted == 1].mean() > 2 * data.label.mean()
    assert [choice.project for choice in found.choices] == list(PROJECTS)
    assert all(choice.candidate.inputs in inputs for choice in found.choices)


@pytest.mark.parametrize("rules", [(BY_AREA,), CHOICE_RULES])
def test_the_labels_of_a_project_influence_neither_its_scores_nor_its_threshold(data, rules):
    own = data.projects == "c"
    flipped = np.where(own, 1 - data.label, data.label)

    first, other = (
        UnseenProjects(data=data, positive=label, rules=rules).predict() for label in (data.label, flipped)
    )

    assert np.array_equal(first.probability[own], other.probability[own])
    assert np.array_equal(first.predicted[own], other.predicted[own])
    assert not np.array_equal(first.probability[~own], other.probability[~own])


def test_the_other_projects_choose_one_of_several_rules(data):
    def always(threshold):
        return ChoiceRule(
            name=f"threshold {threshold}", choose=lambda chances, positive: (next(iter(chances)), threshold)
        )

    useless, good = always(0.0), always(0.6)
    found = UnseenProjects(data=data, positive=data.label, rules=(useless, good)).predict()

    assert {choice.rule for choice in found.choices} == {good.name}
    assert 0 < found.predicted.mean() < 0.5


def test_a_score_can_include_the_mean_of_its_group():
    scores = np.array([0.0, 1.0, 0.4])
    groups = np.array([0, 0, 1])

    assert with_group_means(scores, groups, 0.0).tolist() == [0, 1, 0.4]
    assert with_group_means(scores, groups, 1.0).tolist() == [0.5, 0.5, 0.4]


@pytest.mark.parametrize(
    ("test", "group"),
    [("tests/a.py::TestX::test_y", "tests/a.py::TestX"), ("org.Some.test", "org.Some"), ("t", "")],
)
def test_the_group_of_a_test_is_its_class_or_file(test, group):
    assert class_or_file(test) == group


def test_candidates_have_only_the_given_inputs():
    assert {candidate.inputs for candidate in all_candidates((METRICS, BOTH))} == {METRICS, BOTH}
    assert len(all_candidates((METRICS, WORDS, BOTH))) == 3 * (2 + 3 + 6)
