"""Hand-made tests, runs and failures for the tests of the core."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.core.plans import CollectedTest, Isolation, Setting, Suite
from flakehound.core.records import Failure, RunRecord

A, B, C, D = (NodeId(f"test_x.py::test_{name}") for name in "abcd")


def a_suite(*tests: NodeId) -> Suite:
    found = tests or (A, B, C, D)
    return Suite(tests=tuple(CollectedTest(id=test, module="test_x.py", parent="test_x.py") for test in found))


def a_run(order: Sequence[NodeId], letters: str, **changes: Any) -> RunRecord:
    """A run whose outcomes are given by the letters of `Outcome`."""
    usual = {
        "order": tuple(order),
        "outcomes": tuple(Outcome(letter) for letter in letters),
        "durations_s": (0.1,) * len(order),
        "setting": Setting.PROBE,
        "isolation": Isolation.FORK,
        "why": "is it flaky?",
    }
    return RunRecord(**(usual | changes))


def a_failure(**changes: str) -> Failure:
    usual = {
        "phase": "call",
        "exception": "AssertionError",
        "message": "assert 1 == 2",
        "where": "tests/test_cart.py:14",
        "text": "E   assert 1 == 2",
    }
    return Failure(**(usual | changes))
