from __future__ import annotations

from dataclasses import replace

import pytest

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause
from flakehound.lint.baseline import BadBaseline, baseline_text, new_findings, parse_baseline
from flakehound.lint.scoring.rule_weights import WEIGHTS, rule_score, signals
from flakehound.lint.suppression import (
    BadSelection,
    RuleSelection,
    selection_from,
    suppressions_in,
    without_suppressed,
)

FOUND = LintFinding(
    rule="FH101",
    cause=Cause.RANDOMNESS,
    path="test_dice.py",
    line=4,
    column=12,
    message="random.random() draws, at shop.py:17",
    test_id="test_dice.py::test_roll",
)


def left_by(text: str, finding: LintFinding = FOUND) -> list[LintFinding]:
    return list(without_suppressed([finding], {"test_dice.py": suppressions_in(text)}, "test_dice.py", 3))


def test_a_comment_with_a_reason_takes_the_finding_out():
    text = "\n\ndef test_roll():\n    assert random.random()  # flakehound: ignore[FH101] seeded in conftest\n"

    assert left_by(text) == []


def test_a_comment_at_the_line_of_the_test_speaks_for_the_whole_test():
    assert (
        left_by(
            "import random\n\ndef test_roll():  # flakehound: ignore[FH1] seeded\n    assert random.random()\n"
        )
        == []
    )


def test_a_comment_that_stands_alone_speaks_about_the_next_line():
    assert (
        left_by(
            "import random\ndef test_roll():\n    # flakehound: ignore[FH101] seeded\n    assert random.random()\n"
        )
        == []
    )


def test_a_comment_without_a_reason_is_itself_a_finding():
    (left,) = left_by("\n\n\nassert random.random()  # flakehound: ignore[FH101]\n")

    assert left.rule == "FH001"
    assert left.line == FOUND.line


@pytest.mark.parametrize(
    "text",
    [
        "\n\n\nassert random.random()  # flakehound: ignore[FH201] another rule\n",
        "\n\nassert True  # flakehound: ignore\nassert random.random()\n",
        "\n\n\nassert '# flakehound: ignore[FH101] in a string'\n",
        "x = 1  # flakehound: ignore[FH101] another line\n",
        "(  # flakehound: ignore[FH101] never closed\n",
    ],
)
def test_other_comments_take_nothing_out(text):
    assert left_by(text) == [FOUND]


def test_rules_are_chosen_by_the_longest_beginning():
    selection = selection_from(
        {
            "select": ["FH1", "FH603"],
            "ignore": ["FH102"],
            "per-file-ignores": {"tests/slow/*": ["FH1"]},
            "other": 1,
        }
    )

    assert [selection.includes(rule, "tests/test_a.py") for rule in ("FH101", "FH102", "FH603", "FH901")] == [
        *(True, False, True, False)
    ]
    assert not selection.includes("FH101", "tests/slow/test_b.py")


def test_every_rule_speaks_unless_told_otherwise():
    assert RuleSelection().includes("FH913", "anywhere.py")


@pytest.mark.parametrize(
    "settings",
    [{"select": "FH1"}, {"ignore": ["E501"]}, {"per-file-ignores": ["FH1"]}, {"per-file-ignores": {"a": 3}}],
)
def test_a_setting_that_means_nothing_is_an_error_that_shows_it(settings):
    with pytest.raises(BadSelection, match=next(iter(settings))):
        selection_from(settings)


def test_a_finding_keeps_its_fingerprint_when_lines_move():
    moved = replace(FOUND, line=40, column=1, message="random.random() draws, at shop.py:99")

    assert moved.fingerprint == FOUND.fingerprint


def test_what_many_tests_share_has_one_fingerprint():
    assert replace(FOUND, test_id="test_dice.py::test_other").fingerprint == FOUND.fingerprint


@pytest.mark.parametrize("change", [{"rule": "FH102"}, {"path": "test_b.py"}, {"scope": "test_other"}])
def test_another_finding_has_another_fingerprint(change):
    assert replace(FOUND, **change).fingerprint != FOUND.fingerprint


def test_only_what_the_baseline_does_not_hold_is_new():
    known = parse_baseline(baseline_text([FOUND]), "baseline.json")
    other, again = replace(FOUND, rule="FH201"), replace(FOUND, line=40)

    assert list(new_findings([FOUND, other], known)) == [other]
    assert list(new_findings([FOUND, again], known)) == [again]
    assert list(new_findings([FOUND, replace(FOUND, test_id="test_dice.py::test_other")], known)) == []


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "else"}', '{"schema": "flakehound/lint-baseline/2", "known": 3}']
)
def test_a_file_that_is_no_baseline_is_an_error(text):
    with pytest.raises(BadBaseline, match="mine"):
        parse_baseline(text, "mine.json")


def test_a_score_is_a_probability_and_grows_with_what_is_found():
    nothing, something = (
        rule_score([], {}),
        rule_score([FOUND, replace(FOUND, rule="FH301", cause=Cause.ASYNC_WAIT)], {}),
    )

    assert 0 < nothing < something < 1


def test_every_signal_has_a_weight():
    assert {"", *signals([FOUND], {})} == set(WEIGHTS)
