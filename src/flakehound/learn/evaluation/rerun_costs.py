"""What rerunning techniques cost, by the models of CANNIER (eq. 6–8) and of CALLS (§4.3)."""

from __future__ import annotations

from flakehound.learn.extras import Array

CHECKED_SHARE = 0.2  # γ: share of further failures that Classification checks again


def expected_reruns(rate: Array, most: int) -> Array:
    """How often RERUN runs a test that fails with this rate until it saw both outcomes, `most` times at most.

    Eq. 6, summed up: the chance that more than x runs are needed is q^x + (1-q)^x.
    """
    import numpy as np

    fails = np.asarray(rate, dtype=float)
    passes = 1.0 - fails
    with np.errstate(divide="ignore", invalid="ignore"):
        found = 1.0 + _powers(fails, passes, most - 1) + _powers(passes, fails, most - 1)
    return np.where((fails <= 0) | (passes <= 0), float(most), found)


def _powers(base: Array, rest: Array, count: int) -> Array:
    """base + base² + … + base^count, where base + rest = 1; exact also where the base is nearly 1."""
    import numpy as np

    summed: Array = base * -np.expm1(count * np.log(base)) / rest
    return summed


def unveiled(fails: Array, passes: Array, runs: int | Array) -> Array:
    """U(n): the chance of at least one pass and one failure in n runs; runs may also be skipped."""
    return 1 - (1 - fails) ** runs - (1 - passes) ** runs + (1 - passes - fails) ** runs


def expected_runs_to_unveil(fails: Array, passes: Array, most: int) -> Array:
    """Runs until both outcomes were seen, `most` at most, with skips counted (CALLS §4.3.1)."""
    import numpy as np

    fails, passes = np.asarray(fails, dtype=float), np.asarray(passes, dtype=float)
    return most - sum((unveiled(fails, passes, runs) for runs in range(1, most)), np.zeros(np.shape(fails)))


def runs_for_certainty(fails: Array, passes: Array, certainty: float = 0.95, most: int = 1 << 24) -> Array:
    """The least number of runs after which U(n) reaches the certainty; `most` where it never does."""
    import numpy as np

    low = np.ones(np.shape(fails), dtype=int)
    high = np.full(np.shape(fails), most)
    while (low < high).any():
        middle = (low + high) // 2
        enough = unveiled(fails, passes, middle) >= certainty
        high = np.where(enough, middle, high)
        low = np.where(enough, low, np.minimum(middle + 1, high))
    return low


def rerun_costs(cost_s: Array, failed: Array, runs: Array, most: int) -> Array:
    """Seconds RERUN spends on each test; on a test without both outcomes the most it may (eq. 6)."""
    import numpy as np

    rate = np.divide(failed, runs, out=np.zeros(len(cost_s)), where=np.asarray(runs) > 0)
    return cost_s * expected_reruns(rate, most)


def classification_costs(suite_s: Array, shuffled_failed: Array, share: float = CHECKED_SHARE) -> Array:
    """Seconds that telling each test's kind takes: one run of its suite per attempt (eq. 7)."""
    cost_s: Array = (1 + share * (shuffled_failed - 1)) * suite_s
    return cost_s


def pairwise_cost(victims: Array, victims_s: Array, polluters: Array, polluters_s: Array) -> Array:
    """Seconds for every pair of candidates, from their numbers and summed costs (eq. 8)."""
    cost_s: Array = polluters * victims_s + victims * polluters_s
    return cost_s
