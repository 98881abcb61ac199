"""Runs of the quick tests of a long suite only: what they do to each other is seen in a fraction of the time."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.history import History
from flakehound.core.plans import Order
from flakehound.hunt.quick_tests import quick_tests
from flakehound.hunt.search.orders import orders_by_group, round_robin


def quick_orders(history: History, tests: Order, seed: int, share: float) -> Iterator[Order]:
    """Distinct orders of the quickest of these tests, which take this share of their time; few tests have few.

    They keep files or classes together, so that their fixtures are set up once.
    """
    suite, tests = history.suite, quick_tests(history.costs, tests, share)
    if len(tests) < 2:
        return
    first = dict.fromkeys((halves_reversed(tests), halves_swapped(tests)))
    yield from first
    seen = set(map(hash, first))
    present, number, found = frozenset(tests), 0, -1
    while len(seen) > found:  # a round without a new order is the last one
        found = len(seen)
        by_file = orders_by_group(suite, "module", f"{seed}:{share}:{number}", present)
        by_class = orders_by_group(suite, "parent", f"{seed}:{share}:{number}", present)
        for order in round_robin(by_file, by_class):
            if hash(order) not in seen:
                seen.add(hash(order))
                yield order
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
