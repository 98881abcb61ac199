"""Which run a triage makes next: no more than the verdict needs, the cheapest first."""

from __future__ import annotations

from dataclasses import replace

import pytest
from triage_samples import TEST, entity

from flakehound.core.history import Tally
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.triage.evidence import Condition, FailureEvidence, Rerun, Stage, WithoutChange
from flakehound.triage.intersection import Intersection, Touch
from flakehound.triage.next_step import (
    BASE_RUNS,
    BASE_RUNS_ALONE,
    MAX_CONFIRMATIONS,
    MAX_SAME_ORDER_S,
    CompareWithBase,
    ConfirmInNewProcess,
    Judge,
    KnownFailure,
    LookUpStore,
    RecordDependencies,
    RecordPolluters,
    RepeatRandomState,
    RerunInForks,
    RunAloneAtBase,
    SearchPolluters,
    TriageScope,
    next_step,
)

POLLUTER = NodeId("tests/test_user.py::test_ban")
OTHER = NodeId("tests/test_user.py::test_other")
TOUCHES = Intersection(touches=(Touch(entity=entity(), reason="it executes line 12"),), changed=1)
DISJOINT = Intersection(touches=(), changed=1)
SCOPE = TriageScope(new_process_reruns=2, compares_with_change=True, change_is_complete=True, check_base=False)
UNCHANGED_SCOPE = replace(SCOPE, compares_with_change=False)
PASSED_AT_BASE = WithoutChange(after_others=Tally(n=3))
FORKS = RerunInForks(times=1)
RECORD = RecordDependencies(with_random_state=False)
CONFIRM = ConfirmInNewProcess(or_new_interpreter=True)


def reruns(stage: Stage, letters: str) -> tuple[Rerun, ...]:
    return tuple(Rerun(stage=stage, outcome=Outcome(letter)) for letter in letters)


IMMEDIATE_PASS = reruns(Stage.IMMEDIATE, "P")
NEVER_PASSED = (*reruns(Stage.IMMEDIATE, "F"), *reruns(Stage.FORKED, "F"), *reruns(Stage.NEW_INTERPRETER, "F"))
FORK_PASS = (*reruns(Stage.IMMEDIATE, "F"), *reruns(Stage.FORKED, "P"))
CONFIRMED = (*IMMEDIATE_PASS, *reruns(Stage.FORKED, "P"))


def known(found=(), steps=(), **facts):
    mine = {
        name: facts.pop(name) for name in ("duration_s", "has_random_state", "cannot_confirm") if name in facts
    }
    base = {"failed_alone_at_base": facts.pop("failed_alone_at_base", False)}
    preceding = facts.pop("preceding", (OTHER, POLLUTER))
    evidence = FailureEvidence(id=TEST, reruns=found, **facts)
    given = {"duration_s": 1.0, "has_random_state": False, **mine, **base}
    return KnownFailure(evidence=evidence, preceding=preceding, steps=tuple(steps), **given)


def test_a_test_that_fails_in_its_process_is_rerun_in_forks_first_and_one_rerun_is_left_for_the_record():
    assert next_step(known(reruns(Stage.IMMEDIATE, "FF")), SCOPE) == FORKS
    assert next_step(known(), replace(SCOPE, new_process_reruns=5)) == RerunInForks(times=4)


@pytest.mark.parametrize("scope", [SCOPE, UNCHANGED_SCOPE])
def test_then_what_it_depends_on_is_recorded_once_even_without_a_change(scope):
    assert next_step(known(NEVER_PASSED[:2], [FORKS]), scope) == RECORD
    assert next_step(known(NEVER_PASSED, [FORKS, RECORD]), scope) == LookUpStore()


def test_no_rerun_in_a_new_process_leaves_the_store_to_ask():
    scope = replace(SCOPE, new_process_reruns=0)

    assert next_step(known(IMMEDIATE_PASS), scope) == LookUpStore()
    assert next_step(known(IMMEDIATE_PASS, [LookUpStore()]), scope) == Judge()


def test_a_pass_in_the_process_of_the_failure_must_be_confirmed_in_a_new_one():
    assert next_step(known(IMMEDIATE_PASS), SCOPE) == RECORD
    assert next_step(known(IMMEDIATE_PASS), UNCHANGED_SCOPE) == CONFIRM
    assert next_step(known(CONFIRMED, [CONFIRM]), UNCHANGED_SCOPE) == LookUpStore()


@pytest.mark.parametrize(
    ("failures", "or_new_interpreter"), [(2, True), (3, False), (MAX_CONFIRMATIONS - 1, False)]
)
def test_it_is_confirmed_until_it_passes_in_forks_alone_once_the_failures_decide(failures, or_new_interpreter):
    found = (*IMMEDIATE_PASS, *reruns(Stage.FORKED, "F" * failures))

    step = next_step(known(found, [CONFIRM] * failures), UNCHANGED_SCOPE)

    assert step == ConfirmInNewProcess(or_new_interpreter=or_new_interpreter)


def test_the_confirmation_ends_with_enough_failures_or_when_the_test_cannot_run():
    enough = (*IMMEDIATE_PASS, *reruns(Stage.FORKED, "F" * MAX_CONFIRMATIONS))

    assert next_step(known(enough, [CONFIRM] * MAX_CONFIRMATIONS), UNCHANGED_SCOPE) == LookUpStore()
    assert next_step(known(IMMEDIATE_PASS, [CONFIRM], cannot_confirm=True), UNCHANGED_SCOPE) == LookUpStore()


def test_a_failure_that_its_random_state_brings_back_is_recorded_with_that_state():
    again = Tally(n=1, failed=1)

    with_state = next_step(known(IMMEDIATE_PASS, same_state=again, has_random_state=True), SCOPE)

    assert with_state == RecordDependencies(with_random_state=True)
    assert next_step(known(IMMEDIATE_PASS, same_state=again), SCOPE) == RECORD


def test_the_random_state_is_repeated_where_no_rerun_in_the_process_has_tried_it():
    steps = [FORKS, RECORD]

    assert next_step(known(FORK_PASS, steps, has_random_state=True), SCOPE) == RepeatRandomState()
    assert next_step(known(FORK_PASS, steps, has_random_state=True), UNCHANGED_SCOPE) == SearchPolluters()
    assert next_step(known(FORK_PASS, steps, has_random_state=False), SCOPE) == SearchPolluters()
    assert next_step(known(NEVER_PASSED, steps, has_random_state=True), SCOPE) == LookUpStore()
    tried = known(FORK_PASS, [*steps, RepeatRandomState()], has_random_state=True, same_state=Tally(n=1))
    assert next_step(tried, SCOPE) == SearchPolluters()


def test_polluters_are_not_searched_for_a_failure_of_its_random_state_or_one_that_passed_in_its_process():
    steps = [FORKS, RECORD, RepeatRandomState()]

    assert next_step(known(FORK_PASS, steps, same_state=Tally(n=1, failed=1)), SCOPE) == LookUpStore()
    assert next_step(known(CONFIRMED, [RECORD, CONFIRM]), SCOPE) == LookUpStore()


def test_polluters_are_recorded_where_there_is_a_whole_change_to_compare_them_with():
    found = known(FORK_PASS, [FORKS, RECORD, SearchPolluters()], polluters=(POLLUTER,))

    assert next_step(found, SCOPE) == RecordPolluters(order=(POLLUTER, TEST))
    assert next_step(found, replace(SCOPE, change_is_complete=False)) == LookUpStore()
    assert next_step(found, UNCHANGED_SCOPE) == LookUpStore()


ASKED = [FORKS, RECORD, SearchPolluters(), LookUpStore()]


def test_a_test_that_never_passed_is_run_at_the_base_when_asked_or_when_it_passed_there_and_touches_nothing():
    surprising = known(NEVER_PASSED, ASKED, intersection=DISJOINT, without_change=PASSED_AT_BASE)

    assert next_step(surprising, SCOPE) == RunAloneAtBase()
    assert next_step(known(NEVER_PASSED, ASKED, intersection=TOUCHES), SCOPE) == Judge()
    assert next_step(known(NEVER_PASSED, ASKED, intersection=DISJOINT), SCOPE) == Judge()
    assert next_step(known(NEVER_PASSED, ASKED), replace(SCOPE, check_base=True)) == RunAloneAtBase()


def test_a_test_that_fails_alone_at_the_base_where_it_used_to_pass_is_run_there_in_the_same_order():
    facts = {"intersection": DISJOINT, "without_change": PASSED_AT_BASE}
    found = known(NEVER_PASSED, [*ASKED, RunAloneAtBase()], failed_alone_at_base=True, **facts)
    same_order = CompareWithBase(
        condition=Condition.SAME_ORDER, order=(OTHER, POLLUTER, TEST), runs_here=1, runs_at_base=1
    )

    assert next_step(found, SCOPE) == same_order
    assert next_step(replace(found, steps=(*found.steps, same_order)), SCOPE) == Judge()
    assert next_step(replace(found, failed_alone_at_base=False), SCOPE) == Judge()
    assert next_step(replace(found, preceding=()), SCOPE) == Judge()
    assert next_step(replace(found, duration_s=MAX_SAME_ORDER_S + 1), SCOPE) == Judge()


def test_a_flaky_test_that_touches_the_change_repeats_the_condition_of_its_failure_at_the_base():
    in_process = known(CONFIRMED, ASKED, intersection=TOUCHES)
    by_state = known(CONFIRMED, ASKED, intersection=TOUCHES, same_state=Tally(n=1, failed=1))
    polluted = known(
        FORK_PASS, [*ASKED, RecordPolluters(order=())], polluters=(POLLUTER,), preceding_intersection=TOUCHES
    )

    assert next_step(in_process, SCOPE) == CompareWithBase(
        condition=Condition.ALONE, order=(TEST,), known_here=Tally(n=1), runs_at_base=BASE_RUNS_ALONE
    )
    assert next_step(by_state, SCOPE) == CompareWithBase(
        condition=Condition.RANDOM_STATE,
        order=(TEST,),
        known_here=Tally(n=1, failed=1),
        runs_here=1,
        runs_at_base=BASE_RUNS,
        with_random_state=True,
    )
    assert next_step(polluted, SCOPE) == CompareWithBase(
        condition=Condition.AFTER_POLLUTERS, order=(POLLUTER, TEST), runs_here=BASE_RUNS, runs_at_base=BASE_RUNS
    )


def test_a_test_that_passes_elsewhere_without_a_known_polluter_is_compared_in_the_same_order():
    found = known(FORK_PASS, ASKED, intersection=DISJOINT)

    step = next_step(found, SCOPE)

    assert isinstance(step, CompareWithBase)
    assert (step.condition, step.order) == (Condition.SAME_ORDER, (OTHER, POLLUTER, TEST))
    assert next_step(found, UNCHANGED_SCOPE) == Judge()


def test_a_flaky_test_that_touches_nothing_needs_no_base():
    assert next_step(known(CONFIRMED, ASKED, intersection=DISJOINT), SCOPE) == Judge()
