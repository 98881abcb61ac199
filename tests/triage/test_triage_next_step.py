"""Which run a triage makes next: first the condition of the failure, then both sides until a look decides."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from triage_samples import TEST
from verdict_samples import HOW, VALID, counts, evidence, sides

from flakehound.core.outcomes import NodeId
from flakehound.triage.comparison import LOOKS, BothSides, RunCounts
from flakehound.triage.evidence import BaseFacts, Condition
from flakehound.triage.next_step import (
    MAX_SAME_ORDER_S,
    CheckBase,
    Judge,
    KnownFailure,
    LookUpStore,
    RunSide,
    SearchPolluters,
    TriageScope,
    next_step,
)

POLLUTER, BEFORE = NodeId("tests/test_user.py::test_ban"), NodeId("tests/test_user.py::test_other")
SCOPE = TriageScope(first_runs=3, has_base=True)


def known(alone: BothSides | None = None, *, steps=(), preceding=(), duration_s=1.0, random_state=False, **facts):
    return KnownFailure(
        evidence=evidence(alone, **facts),
        preceding=preceding,
        duration_s=duration_s,
        has_random_state=random_state,
        steps=(LookUpStore(), *steps),
    )


def run(condition, *, at_base, runs, first=0, order=(TEST,)):
    return RunSide(at_base=at_base, condition=condition, order=order, forks=runs, new_interpreters=0, first=first)


def test_the_store_is_read_first():
    assert next_step(replace(known(), steps=()), SCOPE) == LookUpStore()


def test_the_test_runs_alone_before_anything_else():
    step = next_step(known(), SCOPE)

    assert isinstance(step, RunSide)
    assert (step.at_base, step.condition, step.runs) == (False, Condition.ALONE, 3)
    assert step.new_interpreters == 0


def test_a_test_that_fails_alone_runs_alone_at_the_base():
    step = next_step(known(sides((3, 3), (0, 0)), preceding=(BEFORE,)), SCOPE)

    assert isinstance(step, RunSide)
    assert (step.at_base, step.condition, step.runs, step.first) == (True, Condition.ALONE, 3, 0)


def test_both_sides_get_more_runs_until_a_look_decides():
    step = next_step(known(sides((3, 3), (0, 3))), SCOPE)
    assert isinstance(step, RunSide)
    assert (step.at_base, step.runs) == (False, 2)

    assert next_step(known(sides((5, 5), (0, 5))), SCOPE) == Judge()
    last = LOOKS[-1]
    assert next_step(known(sides((4, last), (0, last))), SCOPE) == Judge()


def test_a_test_that_passes_alone_gets_its_random_numbers_then_its_polluters_then_its_order():
    passes = sides((0, 5), (0, 0))

    with_state = next_step(known(passes, preceding=(BEFORE,), random_state=True), SCOPE)
    without = next_step(known(passes, preceding=(BEFORE,)), SCOPE)
    in_order = next_step(known(passes, preceding=(BEFORE,), steps=(SearchPolluters(),)), SCOPE)
    found = known(passes, preceding=(BEFORE,), steps=(SearchPolluters(),), polluters=(POLLUTER,))

    assert isinstance(with_state, RunSide)
    assert with_state.condition is Condition.RANDOM_STATE
    assert with_state.new_interpreters == 1
    assert without == SearchPolluters()
    assert isinstance(in_order, RunSide)
    assert in_order.order == (BEFORE, TEST)
    after_polluter = next_step(found, SCOPE)
    assert isinstance(after_polluter, RunSide)
    assert after_polluter.order == (POLLUTER, TEST)


def test_a_long_order_is_not_repeated():
    step = next_step(
        known(
            sides((0, 5), (0, 0)),
            preceding=(BEFORE,),
            duration_s=MAX_SAME_ORDER_S + 1,
            steps=(SearchPolluters(),),
        ),
        SCOPE,
    )

    assert isinstance(step, RunSide)
    assert step.condition is Condition.ALONE


def test_what_is_to_be_cleared_is_checked_at_the_base():
    same = known(sides((20, 20), (20, 20)), base=BaseFacts(name="main"))

    assert next_step(same, SCOPE) == CheckBase(order=(TEST,))
    assert next_step(replace(same, steps=(*same.steps, CheckBase(order=(TEST,)))), SCOPE) == Judge()


def test_a_polluted_test_must_pass_alone_at_the_base_before_it_is_cleared():
    compared = {Condition.ALONE: sides((0, 5), (0, 0)), Condition.AFTER_OTHERS: sides((20, 20), (20, 20))}

    step = next_step(
        known(comparisons=compared, polluters=(POLLUTER,), preceding=(POLLUTER,), steps=(SearchPolluters(),)),
        SCOPE,
    )

    assert isinstance(step, RunSide)
    assert (step.at_base, step.condition) == (True, Condition.ALONE)


def test_a_base_that_passes_with_the_random_numbers_leaves_the_rates_to_decide():
    compared = {Condition.ALONE: sides((0, 5), (0, 0)), Condition.RANDOM_STATE: sides((3, 3), (0, 3))}

    step = next_step(known(comparisons=compared, random_state=True), SCOPE)

    assert isinstance(step, RunSide)
    assert (step.condition, step.at_base) == (Condition.ALONE, True)


def test_without_new_processes_a_base_or_open_questions_there_is_nothing_to_run():
    assert next_step(known(), replace(SCOPE, first_runs=0)) == Judge()
    assert next_step(known(sides((3, 3), (0, 0))), replace(SCOPE, has_base=False)) == Judge()
    assert next_step(known(is_like_others=3), SCOPE) == Judge()
    new = replace(VALID, problem="it does not exist at the base", is_new=True)
    assert next_step(known(sides((3, 3), (0, 0)), base=new), SCOPE) == Judge()


def test_a_test_without_outcomes_is_not_run_for_ever():
    failure = known()
    for _ in range(20):
        step = next_step(failure, SCOPE)
        if isinstance(step, Judge):
            break
        failure = replace(failure, steps=(*failure.steps, step))

    assert isinstance(step, Judge)


@given(
    here=st.lists(st.booleans(), min_size=200, max_size=200),
    base=st.lists(st.booleans(), min_size=200, max_size=200),
    random_state=st.booleans(),
    preceding=st.booleans(),
)
def test_every_triage_ends_and_the_base_never_runs_more_often(here, base, random_state, preceding):
    failure = known(preceding=(BEFORE,) if preceding else (), random_state=random_state)
    outcomes = {False: iter(here), True: iter(base)}
    for _ in range(100):
        step = next_step(failure, SCOPE)
        if isinstance(step, Judge):
            break
        failure = replace(_after(step, failure, outcomes), steps=(*failure.steps, step))

    assert isinstance(step, Judge)
    compared = failure.evidence.sides
    assert compared.base.n <= compared.here.n <= LOOKS[-1]


def _after(step, failure, outcomes):
    if not isinstance(step, RunSide):
        return failure
    found = sum((counts(int(next(outcomes[step.at_base])), 1) for _ in range(step.runs)), RunCounts())
    both = failure.evidence.compared(step.condition)
    both = replace(both, base=both.base + found) if step.at_base else replace(both, here=both.here + found)
    compared = {**failure.evidence.comparisons, step.condition: both}
    return replace(failure, evidence=replace(failure.evidence, comparisons=compared, signature=HOW))
