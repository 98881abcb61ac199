"""The one-line reason for the score of a test."""

from __future__ import annotations

import pytest

from flakehound.learn.static.model import Head, StaticModel, TrainedOn, signals_of
from flakehound.learn.static.reasons import contributions, explained_chances

TRAINED_ON = TrainedOn(digest="", projects=1, tests=1, nod=1, order_dependent=1)
NOD = Head(
    constant=-5,
    even=-4,
    weights={"rules": 1.0, "file causes": 0.5},
    means={"rules": 0.2, "file causes": 0.1},
)
ORDER = Head(
    constant=-3,
    even=-4,
    weights={"file paths": 1.0},
    means={"file paths": 0.5},
    files={"test_b.py": 1.5},
)
MODEL = StaticModel(nod=NOD, order_dependent=ORDER, trained_on=TRAINED_ON)


def reason(**columns):
    ((_chances, text),) = explained_chances(MODEL, [columns], ["test_a.py"])
    return text


def test_the_reason_has_the_likelier_kind_and_the_largest_contributions():
    assert reason(rules=3.0, causes=2.0) == "NOD: rules 3 (+1.19), causes over the file 2 (+0.50)"


def test_flaky_tests_that_were_seen_in_the_file_are_named():
    ((_chances, text),) = explained_chances(MODEL, [{"paths": 4.0}], ["test_b.py"])

    assert text == "order-dependent: flaky tests seen in the file (+1.50), paths over the file 4 (+1.11)"


def test_signals_that_lower_the_score_or_hardly_raise_it_are_left_out():
    assert reason() == "nothing speaks for it"


def test_the_contributions_add_up_to_the_difference_from_an_average_test():
    (signals,) = signals_of([{"rules": 3.0, "causes": 2.0}], ["a"], NOD.weights)

    added = contributions(NOD, signals)

    assert sum(added.values()) == pytest.approx(NOD.evidence(signals) - NOD.evidence(NOD.means))


def test_the_reason_can_come_from_other_tests_of_the_file():
    tests, files = [{"rules": 1.0}, {"causes": 9.0}], ["a.py", "a.py"]

    (chances, first), (_chances, second) = explained_chances(MODEL, tests, files)

    assert "causes over the file" in first
    assert "rules" not in second
    assert chances == MODEL.chances(tests, files)[0]
