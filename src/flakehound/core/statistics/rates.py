"""Failure rates with their uncertainty."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp, sqrt

_Z95 = 1.959963984540054  # two-sided 95 % of the normal distribution


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """How often something fails: the best guess and a 95 % interval."""

    mean: float
    low: float
    high: float


def probability(log_odds: float) -> float:
    """The probability that belongs to log odds, without overflow at either end."""
    if log_odds >= 0:
        return 1 / (1 + exp(-log_odds))
    return exp(log_odds) / (1 + exp(log_odds))


def failure_rate(failed: int, runs: int) -> Rate:
    """Share of failures with its Wilson interval; never seen failing gets the rule of three's exact form."""
    if runs == 0:
        return Rate(mean=0.0, low=0.0, high=1.0)
    if failed == 0:
        return Rate(mean=0.0, low=0.0, high=highest_unseen_rate(runs))
    if failed == runs:
        return Rate(mean=1.0, low=1.0 - highest_unseen_rate(runs), high=1.0)
    share, z2 = failed / runs, _Z95**2
    centre = (share + z2 / (2 * runs)) / (1 + z2 / runs)
    half = _Z95 * sqrt(share * (1 - share) / runs + z2 / (4 * runs**2)) / (1 + z2 / runs)
    return Rate(mean=share, low=max(0.0, centre - half), high=min(1.0, centre + half))


def highest_unseen_rate(runs: int, confidence: float = 0.95) -> float:
    """The failure rate that `runs` passes in a row leave possible (about 3 / runs at 95 %)."""
    return 1.0 - (1.0 - confidence) ** (1.0 / runs) if runs else 1.0


def chance_of_such_a_gap(failed_a: int, runs_a: int, failed_b: int, runs_b: int) -> float:
    """Fisher's exact test: how likely at least so many failures fall into `a` by luck alone."""
    failed, runs = failed_a + failed_b, runs_a + runs_b
    ways = comb(runs, runs_a)
    most = min(failed, runs_a)
    return sum(comb(failed, k) * comb(runs - failed, runs_a - k) for k in range(failed_a, most + 1)) / ways
