"""What was computed for long orders of tests, kept: a planner asks for the same few of them after each run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from flakehound.core.outcomes import NodeId

# Shorter orders are computed again each time. Only saves work: in pandas with 23,000 tests both cores waited for
# the planner three quarters of the time, because it went through such orders many times after each run.
MIN_KEPT_TESTS = 50
_MAX_KEPT_ORDERS = 1000  # then all are forgotten

Value = TypeVar("Value")


class OrderMemo(Generic[Value]):
    """Keeps one value per long order."""

    def __init__(self) -> None:
        self._values: dict[int, Value] = {}  # by hash of the order: quick, because the hashes of strings are kept

    def value(self, order: tuple[NodeId, ...], compute: Callable[[tuple[NodeId, ...]], Value]) -> Value:
        """The value of an order, computed unless that was done before."""
        if len(order) < MIN_KEPT_TESTS:
            return compute(order)
        key = hash(order)
        if key not in self._values:
            if len(self._values) >= _MAX_KEPT_ORDERS:
                self._values.clear()
            self._values[key] = compute(order)
        return self._values[key]

    def forget(self) -> None:
        """Forget all values: what they were computed from has changed."""
        self._values.clear()
