"""Compare how often a test fails with the change and at the base, under one condition.

Both sides are made in the same way and at about the same time. The error rates of both answers are stated in
docs/internals/triage-decisions.md; the numbers below stand only here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from math import sqrt

from flakehound.core.statistics.rates import fisher_p_value

# Runs on each side after which the counts are compared. The first one only ends a triage that has no more time.
FIRST_RUNS = 3
LOOKS = (5, 10, 20, 40, 80)
# For each look, so that five looks call a test with equal rates a regression in at most 2 % of all cases.
# With five runs on each side, five failures here and none at the base have p = 0.00397.
MAX_P_VALUE = 0.004
# A change that raises the failure rate by more than this is cleared with at most 5 %; five looks: see the tests.
# Twenty failures of twenty on both sides reach it, or 20 of 40.
MAX_INCREASE = 0.35
_Z_OF_ONE_LOOK = 2.5758293035489004  # one-sided, 0.5 %
# Without time for the first look: all runs here failed and all at the base passed, at least as many as these.
MIN_RUNS_HERE = 3
MIN_RUNS_AT_BASE = 2


class Difference(Enum):
    """What the runs of both sides say."""

    MORE_OFTEN_HERE = "more often here"
    AS_OFTEN_AT_BASE = "as often at the base"
    OPEN = "open"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCounts:
    """How runs of one test under one condition ended; skips and expected failures are not counted."""

    passed: int = 0
    failures: Mapping[str, int] = field(default_factory=dict)  # by signature; "": the failure is not known
    values: Mapping[str, frozenset[str]] = field(default_factory=dict)  # in their messages, by signature

    @property
    def failed(self) -> int:
        """The number of failures."""
        return sum(self.failures.values())

    @property
    def n(self) -> int:
        """The number of runs that passed or failed."""
        return self.passed + self.failed

    def __add__(self, other: RunCounts) -> RunCounts:
        both = Counter(self.failures) + Counter(other.failures)
        values = {name: self.values_of(name) | other.values_of(name) for name in {*self.values, *other.values}}
        return RunCounts(passed=self.passed + other.passed, failures=dict(both), values=values)

    def values_of(self, signature: str) -> frozenset[str]:
        """The values in the messages of failures with this signature."""
        return self.values.get(signature, frozenset())

    def same(self, signatures: Iterable[str]) -> RunCounts:
        """The passes, and the failures with one of these signatures."""
        kept = {name: number for name, number in self.failures.items() if name in set(signatures)}
        return RunCounts(passed=self.passed, failures=kept, values=self.values)


NO_COUNTS = RunCounts()


@dataclass(frozen=True, slots=True, kw_only=True)
class BothSides:
    """The runs of one condition with the change (here) and at the base."""

    here: RunCounts = NO_COUNTS
    base: RunCounts = NO_COUNTS
    # The part of the runs that were in new interpreters. The others are forks of one process, with one hash seed
    # and one layout of its memory: what depends on these is the same in all of them.
    here_in_interpreters: RunCounts = NO_COUNTS
    base_in_interpreters: RunCounts = NO_COUNTS

    @property
    def same_at_base(self) -> RunCounts:
        """The runs at the base that passed or failed as here; other failures say nothing about this one."""
        return self.base.same(self.here.failures)

    @property
    def runs(self) -> int:
        """The runs that both sides have."""
        return min(self.here.n, self.base.n)

    @property
    def difference(self) -> Difference:
        """What the counts prove."""
        here, base = self.here, self.same_at_base
        if not here.failed or not base.n:
            return Difference.OPEN
        if min(here.n, base.n) >= LOOKS[0] and self._p_value <= MAX_P_VALUE and not self._may_be_by_process:
            return Difference.MORE_OFTEN_HERE
        if self._fails_in_the_same_ways and self.largest_increase <= MAX_INCREASE:
            return Difference.AS_OFTEN_AT_BASE
        return Difference.OPEN

    @property
    def never_fails_in_the_same_way(self) -> bool:
        """Whether it fails in each of many runs on both sides, always in other ways: more runs will not help."""
        is_steady = self.runs >= LOOKS[1] and not self.here.passed and not self.base.passed
        return is_steady and not set(self.here.failures).intersection(self.base.failures)

    @property
    def has_other_values(self) -> bool:
        """Whether failures of one signature have one value in all runs here, and another one in all at the base.

        Then the change decides about the value, and the base perhaps fails for another reason: it lacks a file.
        """
        return any(
            min(number, self.base.failures.get(name, 0)) >= LOOKS[0]
            and len(self.here.values_of(name)) == len(self.base.values_of(name)) == 1
            and self.here.values_of(name) != self.base.values_of(name)
            for name, number in self.here.failures.items()
        )

    @property
    def always_and_never(self) -> bool:
        """Whether all of at least a few runs failed here and all passed at the base."""
        in_interpreters = bool(self.here_in_interpreters.n and self.base_in_interpreters.n)
        return in_interpreters and self.forks_always_and_never

    @property
    def forks_always_and_never(self) -> bool:
        """The same, also if all runs are forks; those of both sides have the same hash seed."""
        here, base = self.here, self.base
        return here.n >= MIN_RUNS_HERE and not here.passed and base.n >= MIN_RUNS_AT_BASE and not base.failed

    @property
    def largest_increase(self) -> float:
        """The largest plausible rise of the failure rate, base to here: the bound of Newcombe."""
        here, base = self.here, self.same_at_base
        if not here.n or not base.n:
            return 1.0
        rate_here, rate_base = here.failed / here.n, base.failed / base.n
        _low_here, high_here = _wilson(here.failed, here.n)
        low_base, _high_base = _wilson(base.failed, base.n)
        return rate_here - rate_base + sqrt((high_here - rate_here) ** 2 + (rate_base - low_base) ** 2)

    @property
    def _may_be_by_process(self) -> bool:
        """Whether all forks of each side agree, so that one draw per process explains them.

        Unless every run in a new interpreter failed here, too, and none at the base.
        """
        here, base = self.here_in_interpreters, self.base_in_interpreters
        forks_here, forks_base = self.here.n - here.n, self.base.n - base.n
        failed_here, failed_base = self.here.failed - here.failed, self.base.failed - base.failed
        are_forks_mixed = 0 < failed_here < forks_here or 0 < failed_base < forks_base
        if are_forks_mixed or not (forks_here and forks_base):
            return False
        return not (here.n and base.n and here.failed == here.n and not base.failed)

    @property
    def _p_value(self) -> float:
        here, base = self.here, self.same_at_base
        return fisher_p_value(here.failed, here.n, base.failed, base.n)

    @property
    def _fails_in_the_same_ways(self) -> bool:
        """Whether every way in which it failed here was seen at the base."""
        return "" not in self.here.failures and set(self.here.failures) <= set(self.base.failures)


def _wilson(failed: int, runs: int) -> tuple[float, float]:
    """The bounds of a failure rate at one look, each one-sided."""
    rate, z_squared = failed / runs, _Z_OF_ONE_LOOK**2
    centre = (rate + z_squared / (2 * runs)) / (1 + z_squared / runs)
    half = _Z_OF_ONE_LOOK * sqrt(rate * (1 - rate) / runs + z_squared / (4 * runs**2)) / (1 + z_squared / runs)
    return max(0.0, centre - half), min(1.0, centre + half)
