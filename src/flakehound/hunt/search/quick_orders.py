"""Runs of the quick tests of a long suite only: what they do to each other is seen in a fraction of the time."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle

from flakehound.core.history import History
from flakehound.core.plans import Order, Suite
from flakehound.hunt import long_limits
from flakehound.hunt.quick_tests import quick_tests
from flakehound.hunt.search.orders import orders_by_group, round_robin


def quick_orders(history: History, tests: Order, seed: int) -> Iterator[Order]:
    """Orders of the quick tests, without end; some of them have more and slower tests than the others."""
    orders_of = cache(
        lambda share: _orders_of(history.suite, quick_tests(history.costs, tests, share), f"{seed}:{share}")
    )
    for share in cycle(long_limits.QUICK_SHARES):
        order = next(orders_of(share), None)
        if order is None:
            return
        yield order


def _orders_of(suite: Suite, tests: Order, seed: str) -> Iterator[Order]:
    """Orders that keep files or classes together, so that their fixtures are set up once."""
    if len(tests) < 2:
        return
    yield halves_reversed(tests)
    yield halves_swapped(tests)
    present, number = frozenset(tests), 0
    while True:
        by_file = orders_by_group(suite, "module", f"{seed}:{number}", present)
        by_class = orders_by_group(suite, "parent", f"{seed}:{number}", present)
        yield from round_robin(by_file, by_class)
        number += 1


def halves_reversed(tests: Order) -> Order:
    """Each half backwards: shows what the reversed order hides because a test between the others cleans up."""
    half = len(tests) // 2
    return (*reversed(tests[:half]), *reversed(tests[half:]))


def halves_swapped(tests: Order) -> Order:
    """The second half first: shows pollution of earlier tests that a test between the others cleans up."""
    half = len(tests) // 2
    return (*tests[half:], *tests[:half])


def spread_groups(tests: Order, size: int) -> Iterator[Order]:
    """Each test in one group of about this size, far from the tests that are close to it in the original order.

    Backwards: a test that needs an earlier one of its file fails in such a group, nearly as if it ran alone, and
    many tests share one process.
    """
    number_of_groups = -(-len(tests) // size)
    for number in range(number_of_groups):
        yield tuple(reversed(tests[number::number_of_groups]))
