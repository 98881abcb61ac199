"""Learn from a team's own runs in which files flaky tests are.

Flaky tests share files: a fixture, a server or a leftover of one of them is there for the next test, too. A model
of few signals cannot say this of a project; its own history can.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from flakehound.core.statistics.rates import logistic
from flakehound.learn.static.model import Head, Values, signals_of

# Flaky tests that the model's own expectation for a file weighs as much as. Not tuned: the smallest whole number.
# What it gives is measured by `benchmarks/lint_train_gain.py`.
PRIOR_FLAKY_TESTS = 1.0
_DIGITS = 4


class OwnTest(Protocol):
    """A test of a team that trains a model."""

    @property
    def project(self) -> str:
        """Its project."""

    @property
    def file(self) -> str:
        """Its file."""

    @property
    def values(self) -> Values:
        """The columns that lint measures."""

    @property
    def learned(self) -> bool:
        """Whether its kind is known."""


@dataclass(slots=True)
class _FileCounts:
    flaky: int = 0
    expected: float = 0.0


def file_terms(head: Head, tests: Sequence[OwnTest], is_flaky: Sequence[bool]) -> dict[str, float]:
    """What to add to the log odds of the tests of each file: more flaky tests seen than expected, or fewer."""
    sizes: dict[str, int] = defaultdict(int)
    for test in tests:
        sizes[test.project] += 1
    files = [f"{test.project} {test.file}" for test in tests]
    signals = signals_of([test.values for test in tests], files, head.weights)
    counts: dict[str, _FileCounts] = defaultdict(_FileCounts)
    for test, own_signals, flaky in zip(tests, signals, is_flaky, strict=True):
        if test.learned:
            odds = head.constant + head.evidence(own_signals) + head.base_rate(sizes[test.project])
            counts[test.file].flaky += flaky
            counts[test.file].expected += logistic(odds)
    return {
        file: round(math.log((count.flaky + PRIOR_FLAKY_TESTS) / (count.expected + PRIOR_FLAKY_TESTS)), _DIGITS)
        for file, count in sorted(counts.items())
    }
