"""Failure rates with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, sqrt

_Z95 = 1.959963984540054  # two-sided 95 % of the normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often something fails: the best estimate and a 95 % interval."""

    mean: float
    low: float
    high: float


def logistic(log_odds: float) -> float:
    """The probability with these log odds, without overflow at either end."""
    if log_odds >= 0:
        return 1 / (1 + exp(-log_odds))
    return exp(log_odds) / (1 + exp(log_odds))


def failure_rate(failed: int, runs: int) -> Rate:
    """The share of failures with its Wilson interval.

    If no run failed, or all did, the bound is the exact form of the rule of three.
    """
    if runs == 0:
        return Rate(mean=0.0, low=0.0, high=1.0)
    if failed == 0:
        return Rate(mean=0.0, low=0.0, high=highest_unseen_rate(runs))
    if failed == runs:
        return Rate(mean=1.0, low=1.0 - highest_unseen_rate(runs), high=1.0)
    share, z_squared = failed / runs, _Z95**2
    centre = (share + z_squared / (2 * runs)) / (1 + z_squared / runs)
    half_width = _Z95 * sqrt(share * (1 - share) / runs + z_squared / (4 * runs**2)) / (1 + z_squared / runs)
    return Rate(mean=share, low=max(0.0, centre - half_width), high=min(1.0, centre + half_width))


def highest_unseen_rate(runs: int, confidence: float = 0.95) -> float:
    """The highest failure rate that is plausible after `runs` passes in a row (about 3 / runs at 95 %)."""
    return 1.0 - (1.0 - confidence) ** (1.0 / runs) if runs else 1.0


def fisher_p_value(failed_a: int, runs_a: int, failed_b: int, runs_b: int) -> float:
    """Fisher's exact test, one-sided: how likely at least `failed_a` of all failures are in group a by chance."""
    failed, runs = failed_a + failed_b, runs_a + runs_b
    arrangements = comb(runs, runs_a)
    max_failed_a = min(failed, runs_a)
    return (
        sum(comb(failed, k) * comb(runs - failed, runs_a - k) for k in range(failed_a, max_failed_a + 1))
        / arrangements
    )
