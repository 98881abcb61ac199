"""Findings that comments, settings or a baseline suppress, and the score by rules."""

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

FINDING = LintFinding(
    rule="FH101",
    cause=Cause.RANDOMNESS,
    path="test_dice.py",
    line=4,
    column=12,
    message="random.random() draws, at shop.py:17",
    test_id="test_dice.py::test_roll",
)


def remaining_findings(text: str, finding: LintFinding = FINDING) -> list[LintFinding]:
    return list(without_suppressed([finding], {"test_dice.py": suppressions_in(text)}, "test_dice.py", 3))


def test_a_comment_with_a_reason_suppresses_the_finding():
    text = "\n\ndef test_roll():\n    assert random.random()  # flakehound: ignore[FH101] seeded in conftest\n"

    assert remaining_findings(text) == []


def test_a_comment_at_the_line_of_the_test_applies_to_the_whole_test():
    assert (
        remaining_findings(
            "import random\n\ndef test_roll():  # flakehound: ignore[FH1] seeded\n    assert random.random()\n"
        )
        == []
    )


def test_a_comment_on_its_own_line_applies_to_the_next_line():
    assert (
        remaining_findings(
            "import random\ndef test_roll():\n    # flakehound: ignore[FH101] seeded\n    assert random.random()\n"
        )
        == []
    )


def test_a_comment_without_a_reason_is_itself_a_finding():
    (remaining,) = remaining_findings("\n\n\nassert random.random()  # flakehound: ignore[FH101]\n")

    assert remaining.rule == "FH001"
    assert remaining.line == FINDING.line


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
def test_other_comments_suppress_nothing(text):
    assert remaining_findings(text) == [FINDING]


def test_rules_are_selected_by_the_longest_prefix():
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


def test_all_rules_are_reported_by_default():
    assert RuleSelection().includes("FH913", "anywhere.py")


@pytest.mark.parametrize(
    "settings",
    [{"select": "FH1"}, {"ignore": ["E501"]}, {"per-file-ignores": ["FH1"]}, {"per-file-ignores": {"a": 3}}],
)
def test_an_invalid_setting_is_an_error_that_names_it(settings):
    with pytest.raises(BadSelection, match=next(iter(settings))):
        selection_from(settings)


def test_a_finding_keeps_its_fingerprint_when_lines_move():
    moved = replace(FINDING, line=40, column=1, message="random.random() draws, at shop.py:99")

    assert moved.fingerprint == FINDING.fingerprint


def test_a_finding_that_several_tests_share_has_one_fingerprint():
    assert replace(FINDING, test_id="test_dice.py::test_other").fingerprint == FINDING.fingerprint


@pytest.mark.parametrize("change", [{"rule": "FH102"}, {"path": "test_b.py"}, {"scope": "test_other"}])
def test_another_finding_has_another_fingerprint(change):
    assert replace(FINDING, **change).fingerprint != FINDING.fingerprint


def test_findings_that_are_not_in_the_baseline_are_new():
    known = parse_baseline(baseline_text([FINDING]), "baseline.json")
    other, again = replace(FINDING, rule="FH201"), replace(FINDING, line=40)

    assert list(new_findings([FINDING, other], known)) == [other]
    assert list(new_findings([FINDING, again], known)) == [again]
    assert list(new_findings([FINDING, replace(FINDING, test_id="test_dice.py::test_other")], known)) == []


@pytest.mark.parametrize(
    "text", ["", "[]", '{"schema": "else"}', '{"schema": "flakehound/lint-baseline/2", "known": 3}']
)
def test_a_file_that_is_not_a_baseline_is_an_error(text):
    with pytest.raises(BadBaseline, match="mine"):
        parse_baseline(text, "mine.json")


def test_a_score_is_a_probability_and_grows_with_the_findings():
    without_findings, with_findings = (
        rule_score([], {}),
        rule_score([FINDING, replace(FINDING, rule="FH301", cause=Cause.ASYNC_WAIT)], {}),
    )

    assert 0 < without_findings < with_findings < 1


def test_every_signal_has_a_weight():
    assert {"", *signals([FINDING], {})} == set(WEIGHTS)
