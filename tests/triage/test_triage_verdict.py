"""The table of docs/internals/triage-decisions.md: only runs at the base clear a failure."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdict_samples import DISJOINT, HOW, OTHER, TOUCHES, VALID, counts, evidence, judged, rerun, sides

from flakehound.core.outcomes import NodeId
from flakehound.core.past_runs import PastRuns
from flakehound.triage.comparison import BothSides, RunCounts
from flakehound.triage.evidence import BaseFacts, Condition, Stage
from flakehound.triage.verdict import Decision, FlakyKind, judge

POLLUTER = NodeId("tests/test_user.py::test_ban")
CLEARED = (Decision.FLAKY, Decision.UNRELATED)


def test_a_test_that_passes_at_the_base_and_fails_here_is_a_regression_whatever_was_recorded():
    verdict = judged(sides((5, 5), (0, 5)), intersection=DISJOINT)

    assert verdict.verdict is Decision.LIKELY_REAL
    assert verdict.evidence.startswith("passes at main (5 of 5 runs alone), fails here (5 of 5)")


def test_a_regression_names_what_it_touches():
    verdict = judged(sides((5, 5), (0, 5)), intersection=TOUCHES)

    assert "touches shop/cart.py" in verdict.evidence
    assert verdict.touches == TOUCHES.touches


def test_a_test_that_fails_more_often_here_is_a_regression_although_it_passes_sometimes():
    verdict = judged(sides((12, 40), (0, 40)))

    assert verdict.verdict is Decision.LIKELY_REAL
    assert verdict.evidence.startswith("fails more often here: 12 of 40 runs alone, 0 of 40 at main")


def test_without_time_for_the_first_look_a_clear_difference_is_a_regression():
    assert judged(sides((3, 3), (0, 2)), ran_out_of_time=True).verdict is Decision.LIKELY_REAL
    assert judged(sides((1, 3), (0, 3)), ran_out_of_time=True).verdict is Decision.UNDECIDED


def test_a_test_that_fails_as_often_at_the_base_is_flaky():
    verdict = judged(sides((12, 40), (13, 40)), reruns=(rerun(Stage.IMMEDIATE, "P"),))

    assert (verdict.verdict, verdict.kind) == (Decision.FLAKY, FlakyKind.NOT_BURSTY)
    assert verdict.is_tolerable
    assert verdict.evidence.startswith("fails at main as often: failed 12 of 40 runs alone here, 13 of 40 at main")


def test_a_test_that_always_fails_on_both_sides_was_broken_before():
    verdict = judged(sides((20, 20), (20, 20)))

    assert (verdict.verdict, verdict.kind) == (Decision.UNRELATED, None)
    assert verdict.is_tolerable


def test_a_polluted_test_that_passes_alone_on_both_sides_is_state_dependent():
    compared = {Condition.ALONE: sides((0, 3), (0, 3)), Condition.AFTER_OTHERS: sides((20, 20), (20, 20))}

    verdict = judge(evidence(comparisons=compared, polluters=(POLLUTER,)))

    assert (verdict.verdict, verdict.kind) == (Decision.FLAKY, FlakyKind.STATE_DEPENDENT)
    assert verdict.polluters == (POLLUTER,)


def test_a_polluted_test_that_passes_after_the_same_tests_at_the_base_is_a_regression():
    compared = {Condition.ALONE: sides((0, 3), (0, 3)), Condition.AFTER_OTHERS: sides((5, 5), (0, 5))}

    assert judge(evidence(comparisons=compared, polluters=(POLLUTER,))).verdict is Decision.LIKELY_REAL


def test_other_random_numbers_at_the_base_do_not_prove_a_regression():
    compared = {Condition.ALONE: sides((0, 40), (0, 40)), Condition.RANDOM_STATE: sides((5, 5), (0, 5))}

    assert judge(evidence(comparisons=compared)).verdict is Decision.UNDECIDED


@pytest.mark.parametrize(
    ("base", "words"),
    [
        (
            BaseFacts(name="main", invalid="", doubt="this clone has only 2 commits"),
            "may contain a part of the change",
        ),
        (BaseFacts(name="main", invalid="it reads /tmp/x"), "it reads /tmp/x"),
        (BaseFacts(name="main"), "was not checked"),
        (BaseFacts(name="main", problem="no commit"), "not compared with a base: no commit"),
        (BaseFacts(name="main", invalid="", problem="it is new", is_new=True), "nothing to compare with"),
    ],
)
def test_a_doubtful_or_missing_base_clears_nothing(base, words):
    same = sides((20, 40), (20, 40)) if not base.problem else sides((20, 40), (0, 0))

    verdict = judged(same, base=base)

    assert verdict.verdict is Decision.UNDECIDED
    assert words in verdict.evidence


def test_a_test_that_is_broken_before_the_last_commit_may_be_broken_by_an_earlier_one():
    base = replace(VALID, is_last_commit=True)

    assert judged(sides((20, 20), (20, 20)), base=base).verdict is Decision.UNDECIDED
    assert judged(sides((20, 40), (20, 40)), base=base).verdict is Decision.FLAKY


def test_passes_on_both_sides_after_one_failure_prove_nothing():
    verdict = judged(sides((0, 40), (0, 40)), failed_as_if_alone=True)

    assert verdict.verdict is Decision.UNDECIDED
    assert verdict.evidence.startswith("the failure did not occur again")


def test_the_failure_itself_counts_if_the_base_fails_in_the_same_way():
    assert judged(sides((0, 40), (2, 40)), failed_as_if_alone=True).verdict is Decision.FLAKY
    assert judged(sides((0, 40), (2, 40)), failed_as_if_alone=False).verdict is Decision.UNDECIDED
    assert judged(sides((0, 40), (2, 40), at_base=OTHER), failed_as_if_alone=True).verdict is Decision.UNDECIDED


def test_failures_before_the_base_clear_a_test_only_if_they_are_as_frequent():
    past = PastRuns(failed=4, runs=40, branches=2, same_failure=4)

    rare = judged(sides((0, 40), (0, 40)), past_runs=past, failed_as_if_alone=True)
    frequent = judged(sides((20, 40), (0, 0)), past_runs=past, failed_as_if_alone=True)

    assert rare.verdict is Decision.FLAKY
    assert rare.evidence.startswith("failed in the same way before the change: failed 4 of the last 40 runs")
    assert frequent.verdict is Decision.UNDECIDED


@pytest.mark.parametrize("past", [None, PastRuns(failed=1, runs=5, branches=1, same_failure=1)])
def test_few_or_no_stored_runs_clear_nothing(past):
    found = judged(sides((0, 40), (0, 40)), past_runs=past, failed_as_if_alone=True)

    assert found.verdict is Decision.UNDECIDED


def test_a_failure_like_proven_regressions_is_likely_real():
    verdict = judged(sides((2, 2), (0, 2)), is_like_others=30)

    assert verdict.verdict is Decision.LIKELY_REAL
    assert verdict.evidence == "passes at main (2 of 2 runs alone), fails here (2 of 2), like 30 other tests"


def test_forks_that_agree_because_of_their_process_prove_no_regression():
    forks = BothSides(here=counts(10, 10), base=counts(0, 10))
    mixed = replace(forks, here_in_interpreters=counts(1, 2), base_in_interpreters=counts(0, 2))

    assert judged(forks).verdict is Decision.UNDECIDED
    assert judged(replace(mixed, here=counts(9, 10))).verdict is Decision.UNDECIDED


# Whatever the facts are

RUNS = st.integers(0, 45)
SIGNATURES = st.sampled_from([HOW, OTHER, ""])


@st.composite
def run_counts(draw, *, passes_only: bool = False) -> RunCounts:
    failures = {} if passes_only else draw(st.dictionaries(SIGNATURES, st.integers(1, 45), max_size=2))
    return RunCounts(passed=draw(RUNS), failures=failures)


@st.composite
def any_evidence(draw, **facts):
    base_passes = facts.pop("base_passes", False)

    def one() -> BothSides:
        here, base = draw(run_counts()), draw(run_counts(passes_only=base_passes))
        return BothSides(here=here, base=base, here_in_interpreters=here, base_in_interpreters=base)

    usual = {
        "comparisons": {condition: one() for condition in draw(st.sets(st.sampled_from(list(Condition))))},
        "failed_as_if_alone": draw(st.booleans()),
        "ran_out_of_time": draw(st.booleans()),
        "intersection": draw(st.sampled_from([None, TOUCHES, DISJOINT])),
        "reruns": tuple(
            rerun(stage, letter)
            for stage in (Stage.IMMEDIATE, Stage.POSTPONED)
            for letter in draw(st.sampled_from(["", "P", "F"]))
        ),
        "base": replace(
            VALID,
            doubt=draw(st.sampled_from(["", "shallow"])),
            invalid=draw(st.sampled_from(["", None, "it reads a file"])),
            is_last_commit=draw(st.booleans()),
        ),
    }
    return evidence(**(usual | facts))


@given(any_evidence(base_passes=True))
def test_a_test_that_never_failed_at_the_base_is_never_cleared(failure):
    assert judge(failure).verdict not in CLEARED


@given(any_evidence())
def test_nothing_is_cleared_at_a_doubtful_or_invalid_base(failure):
    if failure.base.doubt or failure.base.invalid != "":
        assert judge(failure).verdict not in CLEARED


@given(any_evidence())
def test_only_cleared_failures_are_tolerable_and_have_evidence(failure):
    verdict = judge(failure)

    assert verdict.is_tolerable is (verdict.verdict in CLEARED)
    assert verdict.evidence
    assert verdict.as_json()["tolerable"] is verdict.is_tolerable


@given(any_evidence(), st.sampled_from([None, TOUCHES, DISJOINT]))
def test_what_was_recorded_never_changes_a_verdict(failure, other):
    assert judge(failure).verdict is judge(replace(failure, intersection=other)).verdict


def with_values(failed: int, *values: str) -> RunCounts:
    return RunCounts(failures={HOW: failed}, values={HOW: frozenset(values)})


def test_a_value_that_is_steady_on_both_sides_and_differs_clears_nothing():
    other = judged(BothSides(here=with_values(20, "3"), base=with_values(20, "4")))
    same = judged(BothSides(here=with_values(20, "3"), base=with_values(20, "3")))
    varying = judged(BothSides(here=with_values(20, "3", "5"), base=with_values(20, "4", "7")))

    assert other.verdict is Decision.UNDECIDED
    assert other.evidence.startswith("the values in its failure differ from those at main")
    assert {same.verdict, varying.verdict} == {Decision.UNRELATED}


def test_stored_runs_clear_nothing_without_a_rerun():
    past = PastRuns(failed=14, runs=14, branches=1, same_failure=14)

    assert judged(past_runs=past, failed_as_if_alone=True).verdict is Decision.UNDECIDED


def test_forks_prove_a_regression_if_there_is_no_time_for_new_interpreters():
    forks = BothSides(here=counts(3, 3), base=counts(0, 3))

    assert judged(forks).verdict is Decision.UNDECIDED
    assert judged(forks, ran_out_of_time=True).verdict is Decision.LIKELY_REAL
