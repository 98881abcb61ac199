"""Optional steps of a use case end in time."""

from __future__ import annotations

import threading

import pytest

from flakehound.app.limited_step import attempt_within
from flakehound.core.errors import FailedStep, FlakehoundError

LONG_S = 120.0


def test_the_result_of_a_step_that_is_done_in_time_is_returned():
    assert attempt_within(lambda: 3, LONG_S) == 3
    assert attempt_within(lambda: None, LONG_S) is None


def test_a_step_that_takes_too_long_is_abandoned():
    end = threading.Event()

    result = attempt_within(end.wait, 0.3)

    assert result == FailedStep(what="it took longer than 0 s")
    end.set()


def test_an_error_that_the_user_can_cause_is_a_failed_step_and_any_other_is_raised():
    def fail() -> None:
        raise FlakehoundError("no such model")

    assert attempt_within(fail, LONG_S) == FailedStep(what="no such model")
    with pytest.raises(ZeroDivisionError):
        attempt_within(lambda: 1 // 0, LONG_S)


def test_something_is_called_again_and_again_while_the_step_is_waited_for():
    calls: list[int] = []
    end = threading.Event()

    def call() -> None:
        calls.append(1)
        if len(calls) == 3:
            end.set()

    attempt_within(end.wait, LONG_S, call)

    assert len(calls) >= 3
