"""What no earlier hunt of the same code had the time for, and no hunt of the same length would ever reach."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.app.hunt.prepared import PreparedHunt
from flakehound.core.plans import Order, Setting

MAX_SHARE = 0.1  # of the time of a hunt that these runs may take


def orders_never_tried(hunt: PreparedHunt) -> tuple[Order, ...]:
    """Each test twice in one process, if earlier hunts ran it alone but never twice; the cheapest first.

    The search repeats a test together with its first run alone, or only after everything else: every short hunt
    would begin with other orders again and end before it.
    """
    if not hunt.earlier.same_code:
        return ()
    costs, isolation = hunt.history.costs, hunt.opened.isolation
    by_cost = sorted((costs.run_s(order, isolation), order) for order in _repetitions(hunt))
    left_s = MAX_SHARE * (hunt.budget.limit_s or 0.0)
    affordable: list[Order] = []
    for cost_s, order in by_cost:
        left_s -= cost_s
        if left_s < 0:
            break
        affordable.append(order)
    return tuple(affordable)


def _repetitions(hunt: PreparedHunt) -> Iterator[Order]:
    history = hunt.history
    for test in history.suite.tests:
        order = (test.id, test.id)
        was_repeated = history.tally(test.id, Setting.REPEATED).n or history.runs_of(order)
        if test.repeatable and history.tally(test.id, Setting.ALONE).n and not was_repeated:
            yield order
