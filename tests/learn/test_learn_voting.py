"""Votes of several pipelines: the mean of their probabilities, and a threshold chosen by the training part."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.app.studies.published import EXPERIMENTS
from flakehound.learn.evaluation.scores import confusion
from flakehound.learn.models.pipelines import Pipeline
from flakehound.learn.models.validation import cross_validate, figures_of
from flakehound.learn.models.voting import Vote, best_threshold, fit_model
from flakehound.learn.tables.problems import Problem

MEMBERS = (
    Pipeline(classifier="random-forest", trees=5, balancing="random-over"),
    Pipeline(classifier="extra-trees", trees=5, balancing="none"),
)
VOTE = Vote(name="two forests", members=MEMBERS)


def test_the_threshold_is_the_one_with_the_best_f1():
    positive = np.array([1, 0, 1, 1, 0, 0, 0])
    probability = np.array([0.9, 0.8, 0.7, 0.4, 0.4, 0.2, 0.1])

    # Two tests of 0.4 cannot be told apart: with both F1 is 3/4, with 0.7 alone 2/3.
    assert best_threshold(positive, probability) == pytest.approx(0.3)


@pytest.mark.parametrize("seed", range(5))
def test_no_other_threshold_has_a_better_f1(seed):
    rng = np.random.default_rng(seed)
    positive, probability = (rng.random(60) < 0.3).astype(int), rng.integers(0, 20, 60) / 20

    def f1(threshold: float) -> float:
        return confusion(positive, (probability >= threshold).astype(int)).f1

    assert f1(best_threshold(positive, probability)) == max(f1(one) for one in np.unique(probability))


def test_the_highest_of_equally_good_thresholds_is_chosen():
    assert best_threshold(np.array([1, 0, 0, 1]), np.array([0.8, 0.6, 0.4, 0.2])) == pytest.approx(0.7)


def test_the_probability_of_a_test_is_the_mean_of_the_members():
    data = draw_table(tests=80)

    found = fit_model(VOTE, data.values, data.label, seed=3)

    first, second = (model.probability(data.values) for model in found.models)
    assert np.allclose(found.probability(data.values), (first + second) / 2)


def test_the_threshold_of_a_vote_is_chosen_on_tests_that_its_models_were_not_trained_on():
    data = draw_table(tests=200, share=0.45)
    shuffled = np.random.default_rng(2).permutation(data.label)

    found = fit_model(VOTE, data.values, shuffled, seed=3)

    # Trees memorise their training part, so any threshold near one half would be right there. In inner folds,
    # random labels cannot be predicted, and it is best to predict nearly every test as positive.
    own = found.probability(data.values)
    assert confusion(shuffled, (own >= 0.5).astype(int)).f1 > 0.9
    assert found.threshold < 0.3


def test_a_test_never_influences_its_own_prediction_or_threshold():
    data = draw_table(tests=60)
    own = data.projects == "a"
    flipped = np.where(own, 1 - data.label, data.label)

    before, after = (
        cross_validate(one, Problem.LABELLED, VOTE, split="projects", seed=1)
        for one in (data, replace(data, label=flipped))
    )

    assert np.array_equal(before.probability[own], after.probability[own])
    assert np.array_equal(before.predicted[own], after.predicted[own])


def test_the_figures_of_a_vote_use_its_own_threshold():
    predictions = cross_validate(draw_table(), Problem.LABELLED, VOTE, split="folds", seed=1)

    figures = figures_of(predictions)
    assert figures["tp"] + figures["fp"] == predictions.predicted.sum()
    assert not np.array_equal(predictions.predicted, predictions.probability >= 0.5)
    assert figures["mcc"] > 0.35


def test_a_vote_depends_on_the_seed_only():
    data = draw_table(tests=90)
    first, again, other = (fit_model(VOTE, data.values, data.label, seed) for seed in (1, 1, 2))

    assert first.threshold == again.threshold
    assert np.array_equal(first.probability(data.values), again.probability(data.values))
    assert not np.array_equal(first.probability(data.values), other.probability(data.values))


def test_a_single_positive_test_leaves_the_threshold_at_one_half():
    values = np.random.default_rng(1).normal(size=(40, 2))
    positive = (np.arange(40) == 7).astype(int)

    assert fit_model(VOTE, values, positive, seed=1).threshold == 0.5


def test_a_vote_notes_which_balancing_could_not_run():
    values = np.random.default_rng(1).normal(size=(40, 2))
    positive = (np.arange(40) == 7).astype(int)
    smote = replace(MEMBERS[0], balancing="smote")

    found = fit_model(Vote(name="v", members=(smote, smote, MEMBERS[1])), values, positive, seed=1)

    assert found.problem.startswith("smote cannot run: ")
    assert found.problem.count("smote cannot run") == 1


def test_every_published_row_of_a_vote_has_a_row_of_the_plain_forest_on_the_same_tests():
    votes = {one.title: one for one in EXPERIMENTS if isinstance(one.pipeline, Vote)}
    plain = {one.title: one for one in EXPERIMENTS if isinstance(one.pipeline, Pipeline)}

    assert len(votes) == 6
    for title, vote in votes.items():
        forest = plain[title.removesuffix(f", {vote.pipeline.name}")]
        assert forest.tests == vote.tests
        assert forest.pipeline.name.startswith("random-forest-100/")
        assert not vote.compared
