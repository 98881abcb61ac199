"""Orders that expose dependences between tests.

A shuffle puts a polluter somewhere before its victim half of the time, but a test between the two may undo the
pollution: in one real suite 20 shuffles exposed 2 of 12 victims. So orders are drawn from row-complete Latin
squares (Tuscan squares): over n orders of n tests every test runs right before every other exactly once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TypeVar

from flakehound.core.history import prefix_hash
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.hunt import limits

T = TypeVar("T")


def orders_to_try(suite: Suite, original: Callable[[], Order], seed: int, *, unlimited: bool) -> Iterator[Order]:
    """The reversed order, then rows of squares over classes, files and the whole suite, then plain shuffles.

    `original` is a function because tests that end their process are removed from the order during a hunt.
    """
    yield reversed_order(original())
    random_orders = shuffles(original(), seed)
    present = frozenset(original())
    by_class = orders_by_group(suite, "parent", seed, present)
    by_file = orders_by_group(suite, "module", seed, present)
    systematic = round_robin(by_class, by_file, orders_of_whole_suite(suite, seed, present))
    for number in count(1):
        order = next(systematic, None)
        if order is None:
            break
        yield order
        if number % limits.SYSTEMATIC_ORDERS_PER_SHUFFLE == 0:
            yield next(random_orders)
    if len(suite.tests) <= limits.MAX_TESTS_FOR_EACH_FIRST:
        yield from orders_with_each_test_first(original())
    yield from random_orders if unlimited else islice(random_orders, limits.MAX_PLAIN_SHUFFLES)


def distinct_orders(orders: Iterable[Order], original: Order) -> Iterator[Order]:
    """Each order once, without the original; ends after many repeated ones in a row, as a tiny suite has few."""
    hashes = {prefix_hash(original)}
    repeated = 0
    for order in orders:
        if prefix_hash(order) in hashes:
            repeated += 1
            if repeated > limits.MAX_REPEATED_ORDERS_IN_A_ROW:
                return
            continue
        hashes.add(prefix_hash(order))
        repeated = 0
        yield order


def round_robin(*sources: Iterator[T]) -> Iterator[T]:
    """One item of each source after another, until all of them have ended."""
    active = list(sources)
    while active:
        for source in list(active):
            item = next(source, None)
            if item is None:
                active.remove(source)
            else:
                yield item


def reversed_order(order: Order) -> Order:
    """The original order backwards: one run exposes every polluter whose pollution no other test undoes."""
    return tuple(reversed(order))


def zigzag(size: int) -> list[int]:
    """0, n-1, 1, n-2, …: the first row of Williams' square for an even `size`."""
    return [place // 2 if place % 2 == 0 else size - 1 - place // 2 for place in range(size)]


def square_row(members: Sequence[NodeId], number: int) -> list[NodeId]:
    """Row `number` of the square over `members`; in rows 0 … n-1 every ordered pair is adjacent once."""
    size = len(members) + len(members) % 2
    places = ((place + number) % size for place in zigzag(size))
    return [members[place] for place in places if place < len(members)]


def row_count(size: int) -> int:
    """How many rows the square over `size` tests has."""
    return 0 if size < 2 else size + size % 2


def orders_by_group(suite: Suite, by: str, seed: int | str, included: frozenset[NodeId]) -> Iterator[Order]:
    """Orders that keep each group (`parent` or `module`) together and take its tests from a square of its own.

    As many orders as the square of the largest group has rows. Groups stay together because pytest would set up
    their shared fixtures again each time it comes back to them.
    """
    groups = [[t for t in members if t in included] for members in suite.groups(by).values()]
    rng = random.Random(f"{seed}:{by}")
    for members in groups:
        rng.shuffle(members)
    for number in range(max((row_count(len(members)) for members in groups), default=0)):
        rng.shuffle(groups)
        yield tuple(t for members in groups for t in square_row(members, number % max(1, row_count(len(members)))))


def orders_of_whole_suite(suite: Suite, seed: int, included: frozenset[NodeId]) -> Iterator[Order]:
    """The rows of one square over all tests, in a random sequence."""
    members = [t for t in suite.order if t in included]
    rng = random.Random(f"{seed}:full")
    rng.shuffle(members)
    numbers = list(range(row_count(len(members))))
    rng.shuffle(numbers)
    for number in numbers:
        yield tuple(square_row(members, number))


def shuffles(order: Order, seed: int) -> Iterator[Order]:
    """Plain random orders, without end."""
    rng = random.Random(f"{seed}:shuffle")
    while True:
        members = list(order)
        rng.shuffle(members)
        yield tuple(members)


def orders_with_each_test_first(order: Order) -> Iterator[Order]:
    """Each test first, then all the others in the original order."""
    for test in order:
        yield (test, *(other for other in order if other != test))
