"""How many runs it takes until chance, load or a slow period of the machine no longer explain a difference."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter

from flakehound.core.history import History, Tally
from flakehound.core.plans import Order
from flakehound.core.statistics.rates import chance_of_such_a_gap
from flakehound.hunt import limits


def may_be_chance(more: Tally, fewer: Tally) -> bool:
    """Whether chance alone may well have put so many of the failures into `more` (Fisher's exact test)."""
    return chance_of_such_a_gap(more.failed, more.n, fewer.failed, fewer.n) > limits.MAX_CHANCE


def passes_that_rule_out_chance(failing: Tally, most: int, chance: float = 1.0) -> int:
    """Passes under another condition after which the failures under this one are not chance; at most `most`.

    `chance` is the probability that other evidence leaves.
    """
    for passes in range(1, most):
        runs = failing.n + passes
        chance *= (runs - failing.failed) / runs
        if chance <= limits.MAX_CHANCE * (1 + 1e-9):  # a rounding error must not cost one more run
            return passes
    return most


def undisturbed_runs_for(disturbed: Tally, cost_s: float, chance: float = 1.0) -> int:
    """Undisturbed passes after which failures of disturbed runs are due to load, as far as affordable."""
    affordable = max(limits.MIN_EXPENSIVE_UNDISTURBED_RUNS, int(limits.MAX_UNDISTURBED_S / cost_s))
    needed = passes_that_rule_out_chance(disturbed, limits.MAX_UNDISTURBED_RUNS, chance)
    return min(affordable, max(limits.MIN_UNDISTURBED_RUNS, needed))


def alternations_of(history: History, failing: Order, passing: Order) -> int:
    """Length of the alternating sequence of failures of the one order and passes of the other, by time.

    A machine has slow periods, and one that falls on only one of two orders looks like an effect of the order.
    """
    test = failing[-1]
    failed = [(s.run, True) for s in history.after(failing[:-1], test) if s.outcome.is_failure]
    passed = [(s.run, False) for s in history.after(passing[:-1], test) if s.outcome.is_pass]
    return sum(1 for _ in groupby(sorted(failed + passed), key=itemgetter(1)))
