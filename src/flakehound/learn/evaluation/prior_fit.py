"""Fit the spread of failure rates to recorded outcome counts."""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.statistics.index import BetaPrior
from flakehound.learn.extras import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRates:
    """A fitted prior, and how it compares with the data."""

    prior: BetaPrior
    tests: int
    mean: float  # failure rate the prior expects
    observed_mean: float
    log_likelihood: float  # per test


def fit_failure_rates(failed: Array, runs: Array) -> FittedRates:
    """Beta-binomial by maximum likelihood.

    The table holds only tests that were seen failing. Allowing for that (dividing by the chance of being seen) has
    no maximum: the likelihood rises as a goes to 0, towards ever more tests that hardly ever fail. So the prior is
    that of the flaky tests which so many runs show, and "flaky" means that.
    """
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import betaln

    failed, runs = np.asarray(failed, dtype=float), np.asarray(runs, dtype=float)

    def lost(logs: Array) -> float:
        a, b = np.exp(logs)
        base = betaln(a, b)
        found = betaln(a + failed, b + runs - failed) - base
        return float(-found.mean())

    best = minimize(lost, np.log([0.5, 5.0]), method="Nelder-Mead")
    a, b = (float(value) for value in np.exp(best.x))
    return FittedRates(
        prior=BetaPrior(a=round(a, 4), b=round(b, 4)),
        tests=len(failed),
        mean=a / (a + b),
        observed_mean=float((failed / runs).mean()),
        log_likelihood=-float(best.fun),
    )
