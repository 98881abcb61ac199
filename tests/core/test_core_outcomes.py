"""What counts as a failure, as a pass, and as neither."""

from __future__ import annotations

import pytest

from flakehound.core.outcomes import Outcome

TURN_A_BUILD_RED = {Outcome.FAILED, Outcome.ERROR, Outcome.CRASHED, Outcome.TIMED_OUT}
KEEP_IT_GREEN = {Outcome.PASSED, Outcome.XFAILED, Outcome.XPASSED}


@pytest.mark.parametrize("outcome", sorted(TURN_A_BUILD_RED, key=str))
def test_what_turns_a_build_red_is_a_failure_and_no_pass(outcome):
    assert outcome.is_failure
    assert not outcome.is_pass


@pytest.mark.parametrize("outcome", sorted(KEEP_IT_GREEN, key=str))
def test_what_ran_and_kept_the_build_green_is_a_pass_and_no_failure(outcome):
    assert outcome.is_pass
    assert not outcome.is_failure


@pytest.mark.parametrize("outcome", [Outcome.SKIPPED, Outcome.NOT_RUN])
def test_a_test_that_did_not_run_neither_passed_nor_failed(outcome):
    assert not outcome.is_pass
    assert not outcome.is_failure


def test_every_outcome_is_a_failure_a_pass_or_neither():
    every_outcome = TURN_A_BUILD_RED | KEEP_IT_GREEN | {Outcome.SKIPPED, Outcome.NOT_RUN}

    assert every_outcome == set(Outcome)


def test_every_outcome_has_a_letter_of_its_own():
    letters = [outcome.value for outcome in Outcome]

    assert all(len(letter) == 1 for letter in letters)
    assert len(set(letters)) == len(letters)
