"""How many runs rule out chance, load or a slow period of the machine as the reason of a difference."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from flakehound.core.history import History, Tally
from flakehound.core.plans import Order
from flakehound.core.statistics.rates import fisher_p_value
from flakehound.hunt import limits


def may_be_chance(failing: Tally, others: Tally) -> bool:
    """Whether chance may explain that `failing` has more failures than `others` (Fisher's exact test)."""
    return fisher_p_value(failing.failed, failing.n, others.failed, others.n) > limits.MAX_CHANCE


def passes_that_rule_out_chance(failing: Tally, max_passes: int, chance: float = 1.0) -> int:
    """How many passes under another condition rule out that these failures are chance; at most `max_passes`.

    `chance` is the probability of chance that other evidence leaves.
    """
    for passes in range(1, max_passes):
        runs = failing.n + passes
        chance *= (runs - failing.failed) / runs
        if chance <= limits.MAX_CHANCE * (1 + 1e-9):  # a rounding error must not cost one more run
            return passes
    return max_passes


def undisturbed_runs_for(disturbed: Tally, cost_s: float, chance: float = 1.0) -> int:
    """How many undisturbed passes prove that load made the disturbed runs fail; fewer if they cost too much."""
    affordable = max(limits.MIN_EXPENSIVE_UNDISTURBED_RUNS, int(limits.MAX_UNDISTURBED_S / cost_s))
    needed = passes_that_rule_out_chance(disturbed, limits.MAX_UNDISTURBED_RUNS, chance)
    return min(affordable, max(limits.MIN_UNDISTURBED_RUNS, needed))


def alternations_of(history: History, failing: Order, passing: Order) -> int:
    """How many turns failures of one order and passes of the other took, by time.

    If the machine is slow while only one of the two orders runs, that looks like an effect of the order.
    """
    test = failing[-1]
    failed = [(s.run_number, True) for s in history.executions_after(failing[:-1], test) if s.outcome.is_failure]
    passed = [(s.run_number, False) for s in history.executions_after(passing[:-1], test) if s.outcome.is_pass]
    return sum(1 for _ in groupby(sorted(failed + passed), key=itemgetter(1)))
