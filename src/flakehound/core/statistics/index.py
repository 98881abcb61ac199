"""Which test to run next: the one with the most expected detections per second.

A test is flaky with some prior probability; a flaky test's failure rate follows a Beta distribution. As long as
only one outcome was seen, the next run shows the other one with a chance that falls with every run. Standard
library only: a hunt without any extra plans with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from math import exp, lgamma


@dataclass(frozen=True, slots=True, kw_only=True)
class BetaPrior:
    """How the failure rates of flaky tests are spread: Beta(a, b)."""

    a: float
    b: float

    def chance_of_passes(self, passed: int) -> float:
        """How likely a flaky test passes so many times in a row."""
        return _chance_of_passes(self.a, self.b, passed)


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)


@lru_cache(maxsize=1 << 16)
def _chance_of_passes(a: float, b: float, passed: int) -> float:
    # Asked for every test of a suite after every run of it.
    return exp(_log_beta(a, b + passed) - _log_beta(a, b))


# Beta-binomial by maximum likelihood to the 720 NOD tests of `python_flaky` (original order, all projects alike);
# `learn/evaluation/prior_fit.py` fits it, and says what it leaves out.
PYTHON_NOD = BetaPrior(a=0.3046, b=1.0258)


@dataclass(frozen=True, slots=True, kw_only=True)
class PassingTest:
    """What is known of one test that has never failed."""

    prior: float  # probability of being flaky before any run
    passed: int = 0


def chance_of_flaky(known: PassingTest, rates: BetaPrior = PYTHON_NOD) -> float:
    """P(flaky | so many passes)."""
    seen = known.prior * rates.chance_of_passes(known.passed)
    return seen / (seen + 1 - known.prior) if seen else 0.0


def chance_of_detection(known: PassingTest, rates: BetaPrior = PYTHON_NOD) -> float:
    """How likely the very next run fails; the index is this per second."""
    _passing, failing_next = chances_after(known.passed, rates)
    return chance_of_flaky(known, rates) * failing_next


def chances_after(passed: int, rates: BetaPrior) -> tuple[float, float]:
    """How likely a flaky test passes so many times in a row, and how likely it fails the next time."""
    return rates.chance_of_passes(passed), rates.a / (rates.a + rates.b + passed)
