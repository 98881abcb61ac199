"""What a policy may use before it chooses tests: the open suite, the time, and places to keep runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.calls.characteristic_functions import Characteristic
from flakehound.core.records import RunRecord
from flakehound.engine.suite.budget import Budget
from flakehound.engine.suite.open_suite import OpenSuite

MEASURED_RUNS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class HuntStart:
    """A hunt whose suite is open and that has planned nothing yet."""

    opened: OpenSuite
    known: Characteristic
    budget: Budget
    seed: int
    test_limit_s: float | None
    quiet: bool
    keep: Callable[[Sequence[RunRecord]], object]  # runs that no verdict rests on
    keep_source: Callable[[Mapping[str, Mapping[str, float | None]]], object]  # features that the source tells
