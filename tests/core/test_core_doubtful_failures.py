"""Failures in runs that wrote the same files: no evidence, but a reason to look at the tests first."""

from __future__ import annotations

from flakehound.core.doubtful_failures import doubtful_failures, without_doubtful_failures
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import Isolation, Setting
from flakehound.core.records import Failure, RunRecord

TESTS = tuple(NodeId(f"test_{file}.py::test_{number}") for file in "ab" for number in range(3))


def record(letters: str, order=TESTS, message="it failed") -> RunRecord:
    outcomes = tuple(map(Outcome, letters))
    failure = Failure(phase="call", exception="ValueError", message=message, where="", text="")
    return RunRecord(
        order=order,
        outcomes=outcomes,
        durations_s=tuple(0.0 if outcome is Outcome.NOT_RUN else 0.5 for outcome in outcomes),
        setting=Setting.ORIGINAL,
        isolation=Isolation.FORK,
        why="",
        failures={place: failure for place, outcome in enumerate(outcomes) if outcome.is_failure},
    )


def test_tests_with_a_failure_of_their_own_come_before_those_that_look_alike():
    found = doubtful_failures([record("FFPPPP")], [record("PPPFPE")])

    assert found.tests == (TESTS[0], TESTS[3], TESTS[1], TESTS[5])


def test_an_order_of_nearly_all_tests_is_a_whole_one():
    assert doubtful_failures([record("PPPPPP")], [record("PPPPP-")]).of_whole_order
    assert not doubtful_failures([record("PPPPPP")], [record("PPP---")]).of_whole_order
    assert not doubtful_failures([record("PPPPPP")], []).of_whole_order


def test_a_test_whose_failure_is_doubtful_counts_as_not_run_and_one_that_crashed_does_not():
    kept = without_doubtful_failures(record("PFECPS"))

    assert "".join(outcome.value for outcome in kept.outcomes) == "P--CPS"
    assert kept.durations_s == [0.5, 0.0, 0.0, 0.5, 0.5, 0.5]
    assert list(kept.failures) == [3]
