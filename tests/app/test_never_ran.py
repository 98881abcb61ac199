"""Which tests no run of a hunt reached, and what a run of all tests takes."""

from __future__ import annotations

import pytest

from flakehound.app.hunt.summarise import tests_never_reached as never_reached
from flakehound.app.hunt.summarise import time_of_all_tests_s
from flakehound.core.history import History
from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import RunRecord

MODULE = "test_it.py"
TESTS = tuple(NodeId(f"test_it.py::test_{name}") for name in ("passes", "fails", "skips", "late"))


SUITE = Suite(tests=tuple(CollectedTest(id=test, module=MODULE, parent=MODULE) for test in TESTS))


def a_history(letters: str, *durations_s: float) -> History:
    """One run of all tests with these outcomes."""
    record = RunRecord(
        order=TESTS,
        outcomes=tuple(map(Outcome, letters)),
        durations_s=durations_s,
        setting=Setting.ORIGINAL,
        isolation=Isolation.FORK,
        why="a test",
    )
    return History(SUITE, [record])


def test_a_test_that_was_skipped_was_reached():
    assert never_reached(a_history("PFS-", 1.0, 2.0, 0.0, 0.0)) == {TESTS[3]}


def test_nothing_was_reached_without_a_run():
    history = History(SUITE)

    assert never_reached(history) == set(TESTS)
    assert time_of_all_tests_s(history) == 0.0


def test_a_test_that_never_ran_is_assumed_to_take_the_mean_time():
    history = a_history("PPP-", 1.0, 2.0, 3.0, 0.0)

    assert time_of_all_tests_s(history) == pytest.approx(8.0)
