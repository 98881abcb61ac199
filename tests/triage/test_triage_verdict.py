"""From evidence to a verdict, never to more than the evidence proves."""

from __future__ import annotations

import pytest
from triage_samples import entity
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
from flakehound.core.outcomes import NodeId
from flakehound.triage.changes import EntityKind, Reach
from flakehound.triage.evidence import BaseCheck, Condition, PastRuns, Stage, WithoutChange
from flakehound.triage.intersection import Intersection, Touch
from flakehound.triage.verdict import Decision, FlakyKind, is_tolerable

POLLUTER = NodeId("tests/test_user.py::test_ban")


OF_A_TEST = Touch(
    entity=entity("tests/test_new.py", kind=EntityKind.TEST, reach=Reach.TEST), reason="it is the test"
)


@pytest.mark.parametrize(
    ("found", "stage", "kind"),
    [
        (reruns(immediate="P"), Stage.IMMEDIATE, FlakyKind.NOT_BURSTY),
        (reruns(immediate="FP", new="P"), Stage.IMMEDIATE, FlakyKind.NOT_BURSTY),
        (reruns(postponed="P"), Stage.POSTPONED, FlakyKind.BURSTY),
        (reruns(forked="FP", new="P"), Stage.FORKED, FlakyKind.STATE_DEPENDENT),
        (reruns(new="P"), Stage.NEW_INTERPRETER, FlakyKind.STATE_DEPENDENT),
        (tuple(reversed(reruns(postponed="P", new="P"))), Stage.POSTPONED, FlakyKind.BURSTY),
        (reruns(immediate="X"), Stage.IMMEDIATE, FlakyKind.NOT_BURSTY),
    ],
)
def test_a_rerun_that_passes_proves_a_flaky_test_and_the_first_stage_to_pass_tells_its_kind(found, stage, kind):
    verdict = judged(found, preceding_intersection=DISJOINT)

    assert (verdict.verdict, verdict.stage, verdict.kind) == (Decision.FLAKY, stage, kind)


@pytest.mark.parametrize("letter", ["S", "x", "-"])
def test_a_skip_an_expected_failure_and_a_missing_rerun_are_no_passes(letter):
    verdict = judged(reruns(immediate=letter), intersection=TOUCHES)

    assert verdict.verdict is Decision.LIKELY_REAL


def test_the_evidence_of_a_flaky_test_counts_the_reruns_of_every_stage():
    verdict = judged(reruns(immediate="FP", postponed="F", forked="PF", new=""))

    assert verdict.evidence == (
        "passed 1 of 2 immediate reruns, passed 0 of 1 postponed rerun, passed 1 of 2 forked reruns; "
        "touches none of the 12 changes"
    )


def test_the_history_is_part_of_the_evidence():
    verdict = judged(
        reruns(immediate="P"), without_change=WithoutChange(past_runs=PastRuns(failed=3, runs=40, branches=3))
    )

    assert verdict.evidence.endswith("; failed 3 of the last 40 runs on 3 branches")
    assert str(PastRuns(failed=1, runs=9, branches=1)) == "failed 1 of the last 9 runs on 1 branch"


@pytest.mark.parametrize(
    "check",
    [
        checked((1, 1), (1, 0)),
        checked((3, 3), (3, 0), condition=Condition.AFTER_POLLUTERS),
        checked((10, 6), (10, 0)),
        checked((10, 10), (10, 1)),
    ],
)
def test_a_flaky_test_that_fails_here_and_not_at_the_base_under_one_condition_is_likely_real(check):
    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=check)

    assert (verdict.verdict, verdict.stage, verdict.kind) == (Decision.LIKELY_REAL, Stage.INTERSECT, None)
    assert f"failed {check.here.failed} of {check.here.n} here and" in verdict.evidence
    assert "touches shop/cart.py: Cart.total (changed; it executes line 12)" in verdict.evidence
    assert not is_tolerable(verdict)


def test_a_polluter_that_touches_the_change_and_pollutes_only_here_is_likely_real():
    verdict = judged(
        reruns(forked="P"),
        polluters=(POLLUTER,),
        preceding_intersection=TOUCHES,
        base_check=checked((3, 3), (3, 0), condition=Condition.AFTER_POLLUTERS),
    )

    assert verdict.verdict is Decision.LIKELY_REAL
    assert verdict.touches == (TOUCH,)
    assert verdict.polluters == (POLLUTER,)
    assert f"fails after {POLLUTER}, which touches shop/cart.py: Cart.total" in verdict.evidence
    assert "after the same tests failed 3 of 3 here and 0 of 3 at main" in verdict.evidence


@pytest.mark.parametrize("check", [checked((3, 2), (3, 0)), checked((3, 0), (3, 0)), checked((3, 3), (0, 0))])
def test_a_test_that_fails_sometimes_and_touches_the_change_is_undecided_when_the_base_shows_no_failure(check):
    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=check)

    assert verdict.verdict is Decision.UNDECIDED
    assert "the change may have made it flaky" in verdict.evidence
    assert not is_tolerable(verdict)


def test_a_flaky_test_that_fails_at_the_base_too_failed_before_the_change():
    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=checked((3, 3), (3, 2)))

    assert verdict.verdict is Decision.FLAKY
    assert "it failed before the change as well" in verdict.evidence
    assert is_tolerable(verdict)


@pytest.mark.parametrize("signature", ["", "ffffffff"])
def test_a_failure_of_another_sort_at_the_base_excuses_nothing(signature):
    check = checked((3, 3), (3, 3), signature=signature)

    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=check)

    assert "the change may have made it flaky" in verdict.evidence
    assert not is_tolerable(verdict)


def test_a_base_that_could_not_be_asked_is_said_and_the_test_is_undecided():
    check = BaseCheck(condition=Condition.RANDOM_STATE, problem="the worktree does not collect")

    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=check)

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence == (
        "passed 1 of 1 immediate rerun, passed 0 of 1 postponed rerun, passed 0 of 1 forked rerun, "
        "passed 0 of 1 new-interpreter rerun; touches shop/cart.py: Cart.total (changed; it executes line 12); "
        "main could not be checked: the worktree does not collect; the change may have made it flaky"
    )


@pytest.mark.parametrize(
    "without_change",
    [
        WithoutChange(past_runs=PastRuns(failed=3, runs=40, branches=3, same_failure=1)),
        WithoutChange(alone=Tally(n=3, failed=1), signature=HOW),
    ],
)
def test_a_flaky_test_known_to_have_failed_alike_without_the_change_is_tolerable(without_change):
    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, without_change=without_change)

    assert is_tolerable(verdict)
    assert "it failed before the change as well" in verdict.evidence


@pytest.mark.parametrize(
    "without_change",
    [
        WithoutChange(past_runs=PastRuns(failed=3, runs=40, branches=3)),
        WithoutChange(alone=Tally(n=3, failed=1)),
        WithoutChange(after_others=Tally(n=3, failed=1)),
    ],
)
def test_failures_that_may_have_been_of_another_sort_make_nothing_tolerable(without_change):
    assert not is_tolerable(judged(reruns(immediate="P"), intersection=TOUCHES, without_change=without_change))


@pytest.mark.parametrize("found", [reruns(immediate="P"), reruns(postponed="P")])
@pytest.mark.parametrize(
    ("facts", "tolerable"),
    [
        ({"intersection": DISJOINT}, True),
        ({"intersection": UNCHANGED}, True),
        ({"intersection": TOUCHES}, False),
        ({"intersection": DOUBTFUL}, False),
        ({"intersection": None, "why_not_compared": "no git", "versioned": False}, True),
        ({"intersection": None, "why_not_compared": "not asked for"}, False),
    ],
)
def test_a_flaky_test_is_tolerable_when_it_cannot_touch_a_change(found, facts, tolerable):
    assert is_tolerable(judged(found, **facts)) is tolerable


@pytest.mark.parametrize(
    ("facts", "tolerable"),
    [
        ({}, False),
        ({"preceding_intersection": DISJOINT}, True),
        ({"preceding_intersection": DISJOINT, "polluters": (POLLUTER,)}, True),
        ({"preceding_intersection": TOUCHES}, False),
        ({"preceding_intersection": DOUBTFUL}, False),
        ({"polluters": (POLLUTER,)}, False),
        ({"intersection": UNCHANGED}, True),
    ],
)
def test_a_state_dependent_test_is_tolerable_only_when_what_ran_before_it_cannot_touch_the_change(
    facts, tolerable
):
    assert is_tolerable(judged(reruns(forked="P"), **facts)) is tolerable


# A pass that proves nothing


@pytest.mark.parametrize("stage", ["immediate", "postponed"])
def test_a_test_that_passes_only_where_it_has_failed_before_is_judged_as_if_it_never_passed(stage):
    found = reruns(**{stage: "P"}, forked="FF")

    real = judged(found, intersection=TOUCHES)
    open_ = judged(found, intersection=DISJOINT)

    assert (real.verdict, real.kind) == (Decision.LIKELY_REAL, None)
    assert open_.verdict is Decision.UNDECIDED
    assert "passes only where it has failed before" in real.evidence


def test_one_pass_in_a_new_process_is_proof_again():
    verdict = judged(reruns(immediate="P", forked="FFFFP"), intersection=DISJOINT)

    assert verdict.verdict is Decision.FLAKY


def test_a_new_test_that_fails_sometimes_is_flaky_for_it_cannot_have_been_broken():
    verdict = judged(reruns(immediate="P"), intersection=TOUCHES, base_check=NEW_AT_BASE)

    assert verdict.verdict is Decision.FLAKY
    assert not is_tolerable(verdict)


def test_a_test_that_touches_only_changed_tests_stays_flaky():
    found = Intersection(touches=(OF_A_TEST,), changed=12)

    assert judged(reruns(immediate="P"), intersection=found).verdict is Decision.FLAKY


def test_a_failure_that_its_random_numbers_bring_back_is_undecided_when_the_base_cannot_be_asked():
    facts = {"same_state": Tally(n=1, failed=1), "intersection": TOUCHES}
    problem = BaseCheck(condition=Condition.RANDOM_STATE, problem="no worktree")

    assert judged(reruns(immediate="P"), **facts).verdict is Decision.UNDECIDED
    assert judged(reruns(immediate="P"), **facts, base_check=problem).verdict is Decision.UNDECIDED
    asked = checked((2, 2), (2, 1))
    assert judged(reruns(immediate="P"), **facts, base_check=asked).verdict is Decision.FLAKY


@pytest.mark.parametrize(
    ("preceding", "decision"),
    [
        (None, Decision.UNDECIDED),
        (TOUCHES, Decision.UNDECIDED),
        (DOUBTFUL, Decision.UNDECIDED),
        (Intersection(touches=(OF_A_TEST,), changed=12), Decision.FLAKY),
        (DISJOINT, Decision.FLAKY),
    ],
)
def test_state_that_the_change_may_have_left_behind_is_undecided_when_the_base_cannot_be_asked(
    preceding, decision
):
    verdict = judged(reruns(forked="P"), polluters=(POLLUTER,), preceding_intersection=preceding)

    assert verdict.verdict is decision
