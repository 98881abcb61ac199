"""Orders that bring hidden dependences out.

A shuffle puts a polluter somewhere before its victim half of the time, yet whatever runs between the two may undo
the pollution: in one real suite 20 shuffles exposed 2 of 12 victims. So orders are drawn from row-complete
Latin squares (Tuscan squares): over n orders of n tests every test runs right before every other exactly once.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count, islice
from typing import TypeVar

from flakehound.core.history import chain
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.hunt import limits

T = TypeVar("T")


def orders_to_try(suite: Suite, original: Callable[[], Order], seed: int, *, unlimited: bool) -> Iterator[Order]:
    """Reversed first, then neighbours within classes, files, and the whole suite, then plain shuffles.

    `original` is asked again as it loses the tests that end their process.
    """
    yield reversed_order(original())
    random_ones = shuffles(original(), seed)
    present = frozenset(original())
    by_class = grouped_rows(suite, "parent", seed, present)
    by_file = grouped_rows(suite, "module", seed, present)
    systematic = in_turn(by_class, by_file, full_rows(suite, seed, present))
    for number in count(1):
        order = next(systematic, None)
        if order is None:
            break
        yield order
        if number % limits.SYSTEMATIC_ORDERS_PER_SHUFFLE == 0:
            yield next(random_ones)
    if len(suite.tests) <= limits.MAX_TESTS_FOR_EACH_FIRST:
        yield from each_first(original())
    yield from random_ones if unlimited else islice(random_ones, limits.MAX_PLAIN_SHUFFLES)


def distinct_orders(orders: Iterable[Order], original: Order) -> Iterator[Order]:
    """Each order once, without the original; ends when only known ones come, as a tiny suite has few."""
    known = {chain(original)}
    repeated = 0
    for order in orders:
        if chain(order) in known:
            repeated += 1
            if repeated > limits.MAX_REPEATED_ORDERS_IN_A_ROW:
                return
            continue
        known.add(chain(order))
        repeated = 0
        yield order


def in_turn(*sources: Iterator[T]) -> Iterator[T]:
    """One item of each source after another, until all of them have ended."""
    waiting = list(sources)
    while waiting:
        for source in list(waiting):
            item = next(source, None)
            if item is None:
                waiting.remove(source)
            else:
                yield item


def reversed_order(order: Order) -> Order:
    """The original order backwards: cheap, and exposes every polluter that nothing undoes."""
    return tuple(reversed(order))


def zigzag(size: int) -> list[int]:
    """0, n-1, 1, n-2, …: the first row of Williams' square for an even `size`."""
    return [place // 2 if place % 2 == 0 else size - 1 - place // 2 for place in range(size)]


def row(members: Sequence[NodeId], number: int) -> list[NodeId]:
    """Row `number` of the square over `members`; rows 0 … n-1 have every ordered pair as neighbours once."""
    size = len(members) + len(members) % 2
    places = ((place + number) % size for place in zigzag(size))
    return [members[place] for place in places if place < len(members)]


def rows_in(size: int) -> int:
    """How many rows the square over `size` tests has."""
    return 0 if size < 2 else size + size % 2


def grouped_rows(suite: Suite, by: str, seed: int, keep: frozenset[NodeId]) -> Iterator[Order]:
    """Orders that keep each group (`parent` or `module`) together and walk through its own square.

    As many as the largest group needs. Groups stay whole because shared fixtures are set up once per visit.
    """
    groups = [[t for t in members if t in keep] for members in suite.groups(by).values()]
    rng = random.Random(f"{seed}:{by}")
    for members in groups:
        rng.shuffle(members)
    for number in range(max((rows_in(len(members)) for members in groups), default=0)):
        rng.shuffle(groups)
        yield tuple(t for members in groups for t in row(members, number % max(1, rows_in(len(members)))))


def full_rows(suite: Suite, seed: int, keep: frozenset[NodeId]) -> Iterator[Order]:
    """Orders over all tests at once, row by row of one square, rows in a random sequence."""
    members = [t for t in suite.order if t in keep]
    rng = random.Random(f"{seed}:full")
    rng.shuffle(members)
    numbers = list(range(rows_in(len(members))))
    rng.shuffle(numbers)
    for number in numbers:
        yield tuple(row(members, number))


def shuffles(order: Order, seed: int) -> Iterator[Order]:
    """Plain random orders, without end."""
    rng = random.Random(f"{seed}:shuffle")
    while True:
        members = list(order)
        rng.shuffle(members)
        yield tuple(members)


def each_first(order: Order) -> Iterator[Order]:
    """Each test first, then all the others in the original order."""
    for test in order:
        yield (test, *(other for other in order if other != test))
