"""Each rule chooses the candidate that its name describes."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation.model_choice import CHOICE_RULES, best_rule, mcc_at
from flakehound.learn.evaluation.scores import confusion

POSITIVE = [np.array([0, 0, 0, 1]), np.array([0, 1, 1, 0, 0])]
RANKS_WELL = [
    np.array([0.1, 0.2, 0.3, 0.4]),
    np.array([0.1, 0.45, 0.45, 0.2, 0.1]),
]  # but nothing reaches one half
SPLITS_WELL = [np.array([0.1, 0.9, 0.2, 0.8]), np.array([0.3, 0.7, 0.8, 0.1, 0.2])]
BACKWARDS = [1 - chances for chances in SPLITS_WELL]
CHANCES = {"backwards": BACKWARDS, "ranks": RANKS_WELL, "splits": SPLITS_WELL}


@pytest.mark.parametrize(
    ("name", "candidate"),
    [
        ("AUC, one half", "ranks"),
        ("MCC at one half", "splits"),
        ("mean MCC between 0.4 and 0.7, one half", "splits"),
        ("mean F1 of the projects", "splits"),
        ("MCC, threshold from 0.2 to 0.9", "ranks"),
        ("MCC, threshold among 100 quantiles", "ranks"),
        ("AUC, threshold by MCC", "ranks"),
    ],
)
def test_a_rule_chooses_its_candidate(name, candidate):
    (rule,) = [rule for rule in CHOICE_RULES if rule.name == name]

    chosen, threshold = rule.choose(CHANCES, POSITIVE)

    assert chosen == candidate
    assert (threshold == 0.5) == ("half" in name or "F1" in name)


def test_fitted_thresholds_separate_the_classes_if_that_is_possible():
    for rule in CHOICE_RULES:
        if "threshold" in rule.name:
            chosen, threshold = rule.choose(CHANCES, POSITIVE)
            predicted = np.concatenate(CHANCES[chosen]) >= threshold
            assert predicted.tolist() == (np.concatenate(POSITIVE) == 1).tolist(), rule.name


def test_the_mcc_at_each_threshold_is_that_of_its_confusion_matrix():
    rng = np.random.default_rng(5)
    positive, chances = rng.integers(0, 2, 60), rng.integers(0, 10, 60) / 10
    thresholds = [0.0, 0.1, 0.35, 0.5, 0.9, 1.0]

    found = mcc_at(positive, chances, thresholds)

    expected = [confusion(positive, (chances >= threshold).astype(int)).mcc for threshold in thresholds]
    assert found == pytest.approx(np.nan_to_num(expected))
    assert found[0] == 0  # all predicted: undefined


def test_the_rule_with_the_best_predictions_is_chosen_and_the_first_of_equals():
    right, wrong = [part.copy() for part in POSITIVE], [1 - part for part in POSITIVE]
    first, second, third, *_ = CHOICE_RULES

    assert best_rule((first, second), {first.name: wrong, second.name: right}, POSITIVE) is second
    assert best_rule((third, second), {third.name: right, second.name: right}, POSITIVE) is third
