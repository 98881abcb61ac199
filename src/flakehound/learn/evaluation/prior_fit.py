"""Fit the distribution of failure rates to recorded outcome counts."""

from __future__ import annotations

from dataclasses import dataclass

from flakehound.core.statistics.index import BetaPrior
from flakehound.learn.extras import Array


@dataclass(frozen=True, slots=True, kw_only=True)
class FittedRates:
    """A fitted distribution of failure rates, and how it compares with the data."""

    prior: BetaPrior
    tests: int
    mean: float  # of the fitted distribution
    observed_mean: float
    log_likelihood: float  # per test


def fit_failure_rates(failed: Array, runs: Array) -> FittedRates:
    """Fit a beta-binomial distribution by maximum likelihood.

    The tables contain only tests that failed at least once. Correcting for that, by dividing by the chance of
    failing at least once, has no maximum: the likelihood rises as a goes to 0, towards ever more tests that hardly
    ever fail. So the result describes flaky tests that this many runs detect, and "flaky" has this meaning here.
    """
    import numpy as np
    from scipy.optimize import minimize
    from scipy.special import betaln

    failed, runs = np.asarray(failed, dtype=float), np.asarray(runs, dtype=float)

    def loss(log_parameters: Array) -> float:
        a, b = np.exp(log_parameters)
        log_likelihoods = betaln(a + failed, b + runs - failed) - betaln(a, b)
        return float(-log_likelihoods.mean())

    best = minimize(loss, np.log([0.5, 5.0]), method="Nelder-Mead")
    a, b = (float(value) for value in np.exp(best.x))
    return FittedRates(
        prior=BetaPrior(a=round(a, 4), b=round(b, 4)),
        tests=len(failed),
        mean=a / (a + b),
        observed_mean=float((failed / runs).mean()),
        log_likelihood=-float(best.fun),
    )
