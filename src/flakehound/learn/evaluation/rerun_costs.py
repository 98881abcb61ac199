"""What rerunning techniques cost for every test of a table, by equations 6 to 8 of CANNIER."""

from __future__ import annotations

from flakehound.core.statistics.rerun_model import OutcomeChances, expected_reruns
from flakehound.learn.extras import Array

CHECKED_SHARE = 0.2  # γ: share of further failures that Classification checks again


def rerun_costs(cost_s: Array, failed: Array, runs: Array, max_runs: int) -> Array:
    """Seconds that RERUN spends on each test (eq. 6): it stops after both outcomes, or after `max_runs` runs."""
    import numpy as np

    rates = np.divide(failed, runs, out=np.zeros(len(cost_s)), where=np.asarray(runs) > 0)
    reruns = [expected_reruns(OutcomeChances.from_failure_rate(rate), max_runs) for rate in rates.tolist()]
    spent_s: Array = cost_s * np.array(reruns)
    return spent_s


def classification_costs(suite_s: Array, shuffled_failed: Array, share: float = CHECKED_SHARE) -> Array:
    """Seconds that Classification spends on each test: one run of its suite per attempt (eq. 7)."""
    cost_s: Array = (1 + share * (shuffled_failed - 1)) * suite_s
    return cost_s


def pairwise_cost(victims: Array, victims_s: Array, polluters: Array, polluters_s: Array) -> Array:
    """Seconds for all pairs of candidates, given their numbers and the sums of their costs (eq. 8)."""
    cost_s: Array = polluters * victims_s + victims * polluters_s
    return cost_s
