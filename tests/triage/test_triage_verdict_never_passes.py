"""Verdicts on tests that never pass in reruns."""

from __future__ import annotations

from dataclasses import replace

import pytest
from triage_samples import TEST, entity
from verdict_samples import (
    DISJOINT,
    DOUBTFUL,
    HOW,
    NEW_AT_BASE,
    TOUCH,
    TOUCHES,
    UNCHANGED,
    checked,
    judged,
    reruns,
)

from flakehound.core.history import Tally
from flakehound.triage.evidence import BaseCheck, Condition, Stage, WithoutChange
from flakehound.triage.intersection import Intersection, Touch
from flakehound.triage.verdict import Decision, is_tolerable

OTHER = Touch(entity=entity(name="Cart.add"), reason="it executes line 4")


PASSED_ALONE = WithoutChange(alone=Tally(n=1))


def test_a_test_that_never_passes_and_touches_the_change_is_likely_real():
    verdict = judged(intersection=Intersection(touches=(TOUCH, OTHER), changed=12))

    assert (verdict.verdict, verdict.stage) == (Decision.LIKELY_REAL, Stage.INTERSECT)
    assert verdict.evidence == (
        "failed all of 4 reruns (1 immediate, 1 postponed, 1 forked, 1 new-interpreter); "
        "touches shop/cart.py: Cart.total (changed; it executes line 12) and 1 more change"
    )
    assert verdict.touches == (TOUCH, OTHER)
    assert not is_tolerable(verdict)


def test_a_test_that_never_passes_and_may_touch_the_change_is_likely_real():
    verdict = judged(intersection=DOUBTFUL, without_change=PASSED_ALONE)

    assert verdict.verdict is Decision.LIKELY_REAL
    assert verdict.evidence.endswith("may touch the 12 changes: it started a process: git status")


def test_a_test_that_fails_at_the_base_as_well_was_not_broken_by_the_change():
    verdict = judged(intersection=TOUCHES, without_change=WithoutChange(alone=Tally(n=2, failed=2)))

    assert (verdict.verdict, verdict.stage) == (Decision.UNDECIDED, None)
    assert verdict.evidence.endswith(
        "fails at main as well (2 of 2 runs alone): the change did not break it, no rerun passed"
    )


def test_a_test_that_needs_others_before_it_is_undecided_and_the_evidence_says_so():
    without_change = WithoutChange(alone=Tally(n=2, failed=2), after_others=Tally(n=9, failed=0))

    verdict = judged(without_change=without_change)

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence.endswith(
        "as well (2 of 2 runs alone), where it passed after other tests (9 of 9 runs)"
    )


def in_the_same_order(base, signature=HOW):
    return BaseCheck(condition=Condition.SAME_ORDER, here=Tally(n=1, failed=1), base=base, signature=signature)


USED_TO_PASS = WithoutChange(alone=Tally(n=1, failed=1), after_others=Tally(n=3), signature=HOW)


def test_a_test_that_used_to_pass_and_now_fails_in_the_same_order_without_the_change_is_unrelated():
    check = in_the_same_order(Tally(n=1, failed=1))

    verdict = judged(intersection=DISJOINT, without_change=USED_TO_PASS, base_check=check)

    assert verdict.verdict is Decision.UNRELATED
    assert "in the same order it fails at main as well, where it passed before" in verdict.evidence


@pytest.mark.parametrize(
    "facts",
    [
        {"base_check": in_the_same_order(Tally(n=1))},
        {"base_check": in_the_same_order(Tally(n=1, failed=1), signature="another")},
        {"base_check": in_the_same_order(Tally(n=1, failed=1)), "intersection": TOUCHES},
        {
            "base_check": in_the_same_order(Tally(n=1, failed=1)),
            "without_change": replace(USED_TO_PASS, after_others=Tally()),
        },
        {"base_check": checked((1, 1), (1, 1))},
    ],
    ids=["passes-there", "another-failure", "touches", "never-passed", "another-condition"],
)
def test_less_than_that_does_not_clear_the_change(facts):
    verdict = judged(**{"intersection": DISJOINT, "without_change": USED_TO_PASS, **facts})

    assert verdict.verdict is not Decision.UNRELATED


def test_a_base_that_fails_in_another_way_does_not_excuse_the_change():
    without_change = WithoutChange(alone=Tally(n=1, failed=1), signature="ffffffff")

    verdict = judged(intersection=TOUCHES, without_change=without_change)

    assert verdict.verdict is Decision.LIKELY_REAL
    assert "failed 1 of 1 runs alone at main" in verdict.evidence


def test_a_test_that_was_flaky_at_the_base_and_always_fails_now_is_likely_real():
    verdict = judged(intersection=TOUCHES, without_change=WithoutChange(alone=Tally(n=3, failed=1), signature=HOW))

    assert verdict.verdict is Decision.LIKELY_REAL


def test_a_test_that_touches_nothing_and_passed_before_is_unrelated_to_the_change():
    verdict = judged(without_change=PASSED_ALONE)

    assert (verdict.verdict, verdict.stage, verdict.kind) == (Decision.UNRELATED, Stage.INTERSECT, None)
    assert verdict.evidence.endswith("; touches none of the 12 changes; passed before, at main or earlier")
    assert is_tolerable(verdict)


def test_a_test_that_touches_nothing_and_may_never_have_passed_is_undecided():
    verdict = judged()

    assert verdict.verdict is Decision.UNDECIDED
    assert "not known to have passed before: --flakehound-check-base would run it at main" in verdict.evidence
    assert not is_tolerable(verdict)


def test_a_test_that_passed_only_after_others_may_miss_one_that_the_change_touched():
    verdict = judged(without_change=WithoutChange(after_others=Tally(n=3)))

    assert verdict.verdict is Decision.UNDECIDED
    assert (
        "it passed before only after other tests: --flakehound-check-base would run it alone" in verdict.evidence
    )


@pytest.mark.parametrize(
    ("preceding", "decision"),
    [(DISJOINT, Decision.UNRELATED), (TOUCHES, Decision.UNDECIDED), (DOUBTFUL, Decision.UNDECIDED)],
)
def test_a_test_that_passed_only_after_others_is_unrelated_when_those_touch_nothing_either(preceding, decision):
    verdict = judged(without_change=WithoutChange(after_others=Tally(n=3)), preceding_intersection=preceding)

    assert verdict.verdict is decision


@pytest.mark.parametrize("signature", ["", "ffffffff"])
def test_a_recorded_rerun_that_failed_in_another_way_proves_nothing(signature):
    verdict = judged(without_change=PASSED_ALONE, signature=signature)

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence.endswith("the rerun that was recorded may have failed for another reason")


def test_without_any_recorded_rerun_nothing_is_unrelated():
    assert judged(reruns(new=""), without_change=PASSED_ALONE).verdict is Decision.UNDECIDED


@pytest.mark.parametrize("without_change", [PASSED_ALONE, WithoutChange(after_others=Tally(n=3))])
def test_when_nothing_changed_a_test_that_passed_before_is_unrelated(without_change):
    verdict = judged(reruns(new=""), intersection=UNCHANGED, without_change=without_change)

    assert verdict.verdict is Decision.UNRELATED
    assert "nothing changed since main" in verdict.evidence


def test_without_git_a_test_that_never_passes_is_undecided_with_the_reason():
    verdict = judged(intersection=None, why_not_compared="/repo is no git repository", versioned=False)

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence.endswith("; /repo is no git repository")
    assert not is_tolerable(verdict)


@pytest.mark.parametrize(
    ("found", "words"),
    [
        ((), "no rerun could run"),
        (reruns("-", "-", "--", "-"), "no rerun could run"),
        (reruns("S", "S", "SS", "S"), "every rerun was skipped or failed as expected"),
        (reruns("x", "-", "", ""), "every rerun was skipped or failed as expected"),
    ],
)
def test_a_test_that_was_not_rerun_is_undecided(found, words):
    verdict = judged(found, intersection=TOUCHES, why_not_rerun="12 of 40 tests failed, above the threshold")

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence.startswith(f"{words}; 12 of 40 tests failed, above the threshold; touches ")


@pytest.mark.parametrize("letter", ["C", "T", "E"])
def test_a_crash_a_timeout_and_an_error_are_failures(letter):
    found = reruns(letter, letter, letter, letter)

    assert judged(found, intersection=TOUCHES).verdict is Decision.LIKELY_REAL


def test_a_verdict_is_written_as_the_contract_says():
    found = reruns(immediate="P", postponed="", forked="", new="")

    verdict = judged(found, intersection=TOUCHES, base_check=NEW_AT_BASE)

    assert verdict.as_json() == {
        "id": TEST,
        "verdict": "flaky",
        "kind": "not-bursty",
        "stage": "immediate",
        "evidence": verdict.evidence,
        "touches": ["shop/cart.py: Cart.total"],
        "polluters": [],
        "reruns": [{"stage": "immediate", "outcome": "P", "seed": 7}],
    }


def test_an_undecided_verdict_has_neither_kind_nor_stage():
    written = judged(()).as_json()

    assert (written["verdict"], written["kind"], written["stage"]) == ("undecided", None, None)


@pytest.mark.parametrize("found", [reruns(), reruns(immediate="P"), reruns(forked="P"), ()])
@pytest.mark.parametrize("intersection", [TOUCHES, DOUBTFUL, DISJOINT, UNCHANGED, None])
@pytest.mark.parametrize("without_change", [WithoutChange(), PASSED_ALONE, WithoutChange(after_others=Tally(n=3))])
def test_every_verdict_has_evidence_and_none_that_touches_the_change_is_tolerable(
    found, intersection, without_change
):
    verdict = judged(
        found, intersection=intersection, why_not_compared="not asked for", without_change=without_change
    )

    assert verdict.evidence
    if intersection in (TOUCHES, DOUBTFUL, None):
        assert verdict.verdict is not Decision.UNRELATED
        assert not is_tolerable(verdict)
