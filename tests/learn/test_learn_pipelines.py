"""Pipelines learn only from their training part, with seeds; balancing that cannot run is noted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from learn_samples import draw_table

from flakehound.learn.models.balancing import TECHNIQUES, balance
from flakehound.learn.models.classifiers import SEARCH_SPACES, draw_settings
from flakehound.learn.models.pipelines import Pipeline, cannier_pipelines, fit_pipeline, static_pipelines
from flakehound.learn.models.splits import project_folds, stratified_folds
from flakehound.learn.models.validation import cross_validate, figures_of
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.dataset import UnusableData
from flakehound.learn.tables.mean_features import check_same_tests, mean_features
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.word_features import with_words

FOREST = Pipeline(classifier="random-forest", trees=5, balancing="smote")


def test_there_are_24_pipelines_of_cannier_and_54_of_static():
    assert len({pipeline.name for pipeline in cannier_pipelines()}) == 24
    assert len({pipeline.name for pipeline in static_pipelines(5)}) == 54


@pytest.mark.parametrize("name", [name for name in TECHNIQUES if name != "none"])
def test_every_technique_balances_the_classes(name):
    data = draw_table(tests=300, share=0.15, noise=1.5)

    found = balance(name, data.values, data.label, seed=1)

    assert found.used == name
    assert not found.problem
    assert 0.3 < found.positive.mean() < 0.75


@pytest.mark.parametrize(
    ("name", "used"),
    [
        ("smote", "random-over"),
        ("smote-enn", "random-over"),
        ("adasyn", "random-over"),
        ("near-miss-3", "random-under"),
    ],
)
def test_balancing_that_cannot_run_with_one_flaky_test_falls_back_with_a_note(name, used):
    values = np.random.default_rng(1).normal(size=(40, 2))
    positive = (np.arange(40) == 7).astype(int)

    found = balance(name, values, positive, seed=1)

    assert found.used == used
    assert found.problem.startswith(f"{name} cannot run: ")


def test_folds_contain_every_test_once_and_equal_shares_of_positives():
    positive = draw_table(tests=203, share=0.2).label

    folds = stratified_folds(positive, 10, seed=4)

    assert sorted(np.concatenate(folds)) == list(range(203))
    assert {len(fold) for fold in folds} <= {20, 21}
    assert np.ptp([positive[fold].sum() for fold in folds]) <= 1


def test_there_are_no_more_folds_than_positives():
    positive = (np.arange(50) < 3).astype(int)

    assert len(stratified_folds(positive, 10, seed=1)) == 3


def test_folds_by_project_never_split_one():
    projects = np.array(["b", "a", "b", "c"], dtype=object)

    assert [fold.tolist() for fold in project_folds(projects)] == [[1], [0, 2], [3]]


def test_cross_validation_has_good_figures_overall_and_per_project():
    figures = figures_of(cross_validate(draw_table(), Problem.LABELLED, FOREST, split="folds", seed=1))

    assert figures["auc"] > 0.75
    assert figures["mcc"] > 0.35
    assert sum(one["tp"] for one in figures["projects"].values()) == figures["tp"]
    assert set(figures["projects"]) == {"a", "b", "c"}


def test_nothing_is_learned_from_random_labels():
    data = draw_table(tests=300)
    shuffled = replace(data, label=np.random.default_rng(9).permutation(data.label))

    figures = figures_of(cross_validate(shuffled, Problem.LABELLED, FOREST, split="folds", seed=1))

    assert abs(figures["auc"] - 0.5) < 0.15


def test_probabilities_depend_on_the_seed_and_the_repeat_only():
    first, same, other = (
        cross_validate(draw_table(), Problem.LABELLED, FOREST, split="folds", seed=seed, repeat=repeat).probability
        for seed, repeat in ((1, 0), (1, 0), (1, 1))
    )

    assert np.array_equal(first, same)
    assert not np.array_equal(first, other)


def test_a_test_never_influences_the_model_that_predicts_it():
    data = draw_table(tests=60)
    flipped = data.label.copy()
    own = data.projects == "a"
    flipped[own] = 1 - flipped[own]

    before, after = (
        cross_validate(one, Problem.LABELLED, FOREST, split="projects", seed=1).probability
        for one in (data, replace(data, label=flipped))
    )

    assert np.array_equal(before[own], after[own])
    assert not np.array_equal(before[~own], after[~own])


def test_features_are_scaled_by_the_training_part():
    data = draw_table()

    model = fit_pipeline(replace(FOREST, scaled=True), data.values[:100], data.label[:100], seed=1)

    assert np.allclose(model.scaler.data_max_, data.values[:100].max(axis=0))


@pytest.mark.parametrize("name", sorted(SEARCH_SPACES))
def test_every_classifier_learns(name):
    data = draw_table(tests=60)
    is_searched = name in ("decision-tree", "naive-bayes")

    for draws in (0, 3) if is_searched else (0,):
        trees = 5 if "trees" in name or "forest" in name else None
        pipeline = Pipeline(classifier=name, balancing="random-over", trees=trees, scaled=True, draws=draws)
        chance = fit_pipeline(pipeline, data.values, data.label, seed=1).probability(data.values)
        assert ((chance >= 0) & (chance <= 1)).all()
        assert chance[data.label == 1].mean() > chance[data.label == 0].mean()


def test_a_search_draws_different_settings_and_starts_with_the_defaults():
    found = draw_settings("random-forest", 6, seed=2)

    assert found[0] == {}
    assert len(found) == 6
    assert found == draw_settings("random-forest", 6, seed=2)
    assert all(a != b for i, a in enumerate(found) for b in found[:i])


@pytest.mark.parametrize("label", [0, 1])
def test_one_class_only_is_an_error(label):
    data = draw_table(tests=20)

    with pytest.raises(UnusableData, match="one class only"):
        cross_validate(replace(data, label=np.full(20, label)), Problem.LABELLED, FOREST, split="folds", seed=1)


def test_a_single_project_cannot_be_left_out():
    with pytest.raises(UnusableData, match="none can be left out"):
        cross_validate(draw_table(projects=("a",)), Problem.LABELLED, FOREST, split="projects", seed=1)


def test_tests_are_not_predicted_if_the_training_part_has_one_class_and_that_is_noted():
    data = draw_table(tests=40, projects=("a", "b"))
    label = (data.projects == "a").astype(int)

    found = cross_validate(replace(data, label=label), Problem.LABELLED, FOREST, split="projects", seed=1)

    assert np.isnan(found.probability).all()
    assert found.notes == ("2 of 2 folds: has one class only in the training part: not predicted",)


def test_mean_features_are_means_of_measurements_drawn_with_a_seed():
    tables = [replace(draw_table(), values=np.full((200, 3), float(number))) for number in range(4)]

    assert set(mean_features(tables, 4, seed=1).values.ravel()) == {1.5}
    assert mean_features(tables, 1, seed=1).values[0, 0] in {0, 1, 2, 3}


def test_measurements_of_other_tests_or_features_are_an_error():
    data = draw_table()

    with pytest.raises(UnusableData, match="other features"):
        check_same_tests([data, data.with_features(["noise"])])
    with pytest.raises(UnusableData, match="other tests"):
        check_same_tests([data, data.select_rows(np.arange(100))])


def test_words_that_enough_tests_have_become_features():
    data = replace(draw_table(tests=4), words=("sleep wait", "sleep", "", "open sleep"))

    found = with_words(data, min_tests=3)

    assert found.features[-1] == "word sleep"
    assert found.values[:, -1].tolist() == [1, 1, 0, 1]
    with pytest.raises(UnusableData, match="no words"):
        with_words(draw_table())


def test_a_seed_depends_on_its_words():
    assert seed_for("a", 1) == seed_for("a", 1)
    assert len({seed_for("a", n) for n in range(100)}) == 100
    assert seed_for("a", "bc") != seed_for("ab", "c")
