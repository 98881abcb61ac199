"""Which test to run next: the one with the most expected detections per second.

A test is flaky with some prior probability; the failure rate of a flaky test follows a Beta distribution. As long
as only one outcome was seen, the chance that the next run shows the other one falls with every run. This module
uses only the standard library, because a hunt without any extra plans with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaPrior:
    """How the failure rates of flaky tests are distributed: Beta(a, b)."""

    a: float
    b: float

    def chance_of_passes(self, passed: int) -> float:
        """How likely a flaky test passes this many times in a row."""
        return _chance_of_passes(self.a, self.b, passed)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@lru_cache(maxsize=1 << 16)
def _chance_of_passes(a: float, b: float, passed: int) -> float:
    # Cached, because it is computed for every test of a suite after every run of it.
    return exp(_log_beta(a, b + passed) - _log_beta(a, b))


# A beta-binomial distribution fitted by maximum likelihood to the 720 NOD tests of `python_flaky` (original order,
# all projects alike). `learn/evaluation/prior_fit.py` fits it, and says what it leaves out.
PYTHON_NOD = BetaPrior(a=0.3046, b=1.0258)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingTest:
    """What is known of a test that has never failed."""

    prior: float  # probability of being flaky before any run
    passed: int = 0


def chance_of_flaky(known: PassingTest, rates: BetaPrior = PYTHON_NOD) -> float:
    """How likely a test is flaky, given its passes."""
    flaky_and_passed = known.prior * rates.chance_of_passes(known.passed)
    return flaky_and_passed / (flaky_and_passed + 1 - known.prior) if flaky_and_passed else 0.0


def chance_of_detection(known: PassingTest, rates: BetaPrior = PYTHON_NOD) -> float:
    """How likely the next run fails; the index is this chance per second."""
    _passes, fails_next = chances_after(known.passed, rates)
    return chance_of_flaky(known, rates) * fails_next


def chances_after(passed: int, rates: BetaPrior) -> tuple[float, float]:
    """How likely a flaky test passes this many times in a row, and how likely it then fails in the next run."""
    return rates.chance_of_passes(passed), rates.a / (rates.a + rates.b + passed)
