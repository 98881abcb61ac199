"""The model for unseen projects is chosen by the others, and does better than chance on a new one."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import drawn

from flakehound.learn.evaluation.model_choice import BY_AREA, CHOICE_RULES, ChoiceRule
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.evaluation.unseen_projects import (
    BOTH,
    METRICS,
    WORDS,
    UnseenProjects,
    candidates,
    class_or_file,
    shared_scores,
)

PROJECTS = ("a", "b", "c", "d")


@pytest.fixture(scope="module")
def data():
    """Flaky tests have a larger first metric and mostly the word sleep; each project measures in its own unit."""
    found = drawn(tests=200, projects=PROJECTS, share=0.15, seed=3)
    unit = np.array([1 + 5 * PROJECTS.index(name) for name in found.projects])
    rng = np.random.default_rng(1)
    words = tuple("sleep run" if rng.random() < (0.8 if label else 0.1) else "run" for label in found.label)
    return replace(found, values=found.values * unit[:, None], words=words)


@pytest.mark.parametrize("reads", [(METRICS,), (WORDS,), (BOTH,)])
def test_it_tells_flaky_tests_of_a_project_it_never_saw(data, reads):
    probability, said, choices = UnseenProjects(data=data, positive=data.label, reads=reads).predicted()

    assert area_under_curve(data.label, probability) > 0.7
    assert data.label[said == 1].mean() > 2 * data.label.mean()
    assert [one.project for one in choices] == list(PROJECTS)
    assert all(one.candidate.reads in reads for one in choices)


@pytest.mark.parametrize("rules", [(BY_AREA,), CHOICE_RULES])
def test_a_project_s_labels_decide_neither_its_scores_nor_its_threshold(data, rules):
    own = data.projects == "c"
    flipped = np.where(own, 1 - data.label, data.label)

    (first, first_said, _), (other, other_said, _) = (
        UnseenProjects(data=data, positive=label, rules=rules).predicted() for label in (data.label, flipped)
    )

    assert np.array_equal(first[own], other[own])
    assert np.array_equal(first_said[own], other_said[own])
    assert not np.array_equal(first[~own], other[~own])


def test_of_several_rules_the_other_projects_take_one(data):
    def always(threshold):
        return ChoiceRule(name=f"from {threshold} on", of=lambda said, positive: (next(iter(said)), threshold))

    useless, good = always(0.0), always(0.6)
    _probability, said, choices = UnseenProjects(data=data, positive=data.label, rules=(useless, good)).predicted()

    assert {one.rule for one in choices} == {good.name}
    assert 0 < said.mean() < 0.5


def test_neighbours_share_their_score():
    scores = np.array([0.0, 1.0, 0.4])
    homes = np.array([0, 0, 1])

    assert shared_scores(scores, homes, 0.0).tolist() == [0, 1, 0.4]
    assert shared_scores(scores, homes, 1.0).tolist() == [0.5, 0.5, 0.4]


@pytest.mark.parametrize(
    ("test", "home"),
    [("tests/a.py::TestX::test_y", "tests/a.py::TestX"), ("org.Some.test", "org.Some"), ("t", "")],
)
def test_a_test_lives_in_its_class_or_file(test, home):
    assert class_or_file(test) == home


def test_candidates_read_what_they_may():
    assert {one.reads for one in candidates((METRICS, BOTH))} == {METRICS, BOTH}
    assert len(candidates((METRICS, WORDS, BOTH))) == 3 * (2 + 3 + 6)
