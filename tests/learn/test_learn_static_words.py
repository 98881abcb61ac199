"""The words of a test as a signal of the model: their score, the shipped weights, and how much they count."""

from __future__ import annotations

import math
from itertools import chain

import pytest

from flakehound.learn.static import table
from flakehound.learn.static.fit import COLUMNS, HEAD_SETTINGS, Sample, fit_static_model
from flakehound.learn.static.model import NOD, Head, StaticModel, TrainedOn, signals_of
from flakehound.learn.static.reasons import explained_chances
from flakehound.learn.static.table import digest_of
from flakehound.learn.static.words import FILE, WORDS_NOD, shipped_word_weights, words_score


def test_the_score_is_the_sum_of_the_weights_of_the_words_that_have_one():
    weights = {"sleep": 0.5, "random": 0.25, "raises": -0.125}

    assert words_score({"sleep", "raises", "unheard"}, weights) == 0.375
    assert words_score(set(), weights) == 0


def test_the_shipped_weights_are_those_of_many_words_and_finite():
    weights = shipped_word_weights()

    assert len(weights) > 1000
    assert all(map(math.isfinite, weights.values()))
    assert all(word == word.lower() and word.isalpha() for word in weights)
    assert weights["raises"] < 0 < weights["run"]


def test_the_digest_of_a_model_covers_the_weights_of_words(monkeypatch):
    names = table._FITTING_FILES
    before = digest_of(b"data")

    monkeypatch.setattr(table, "_FITTING_FILES", [name for name in names if name != f"facts/{FILE}"])

    assert digest_of(b"data") != before


def project(name, *, words):
    """Tests of a project with other rules and words; NOD tests have more rules, and the given words."""
    for number in range(12):
        is_nod = number < 4
        values = {
            **dict.fromkeys(COLUMNS, 0.0),
            "rules": float(is_nod) * 3 + number % 3,
            "causes": float(number % 2),
            WORDS_NOD: words * is_nod - 0.2 * (number % 5),
        }
        is_victim = number == 11
        yield Sample(project=name, file=f"{name}.py", values=values, nod=is_nod, order_dependent=is_victim)


def spread_within(samples, odds):
    """The standard deviation of these numbers around the means of their projects."""
    rests = []
    for name in {sample.project for sample in samples}:
        own = [value for sample, value in zip(samples, odds, strict=True) if sample.project == name]
        rests += [value - sum(own) / len(own) for value in own]
    return math.sqrt(sum(rest**2 for rest in rests) / len(rests))


@pytest.mark.parametrize("words", [0.01, 0.8, -0.8])
def test_words_count_as_much_for_nod_as_all_other_signals_whatever_they_say(words):
    samples = [*chain.from_iterable(project(name, words=words) for name in "abc")]

    head = fit_static_model(samples, "digest").nod

    signals = signals_of([one.values for one in samples], [one.file for one in samples], head.weights)
    by_words = [head.weights[WORDS_NOD] * own[WORDS_NOD] for own in signals]
    by_others = [head.evidence(own) - added for own, added in zip(signals, by_words, strict=True)]
    assert head.weights[WORDS_NOD] > 0
    assert spread_within(samples, by_words) == pytest.approx(spread_within(samples, by_others), rel=1e-3)


def test_words_that_are_the_same_in_all_tests_of_a_project_count_nothing():
    samples = [*chain.from_iterable(project(name, words=0.0) for name in "abc")]
    same = {name: float(number) for number, name in enumerate("abc")}
    for sample in samples:
        sample.values[WORDS_NOD] = same[sample.project]

    assert fit_static_model(samples, "digest").nod.weights[WORDS_NOD] == 0


def test_words_say_nothing_about_order_dependence():
    samples = [*chain.from_iterable(project(name, words=0.5) for name in "abc")]

    assert WORDS_NOD not in fit_static_model(samples, "digest").order_dependent.weights
    assert HEAD_SETTINGS[NOD].all_signals[-1] == WORDS_NOD


@pytest.mark.parametrize(("score", "said"), [(0.5, "0.5 (+1.10)"), (-0.2, "-0.2 (+0.51)")])
def test_the_reason_names_the_score_of_the_words(score, said):
    mean = -math.log1p(1)
    model = StaticModel(
        nod=Head(constant=-4, even=-3, weights={WORDS_NOD: 1.0}, means={WORDS_NOD: mean}),
        order_dependent=Head(constant=-9, even=-9, weights={}, means={}),
        trained_on=TrainedOn(digest="", projects=1, tests=1, nod=1, order_dependent=1),
    )

    ((_chances, why),) = explained_chances(model, [{WORDS_NOD: score}], ["test_a.py"])

    assert why == f"NOD: words of NOD tests {said}"
