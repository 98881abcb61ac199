"""Orders that bring hidden dependences out.

A shuffle puts a polluter somewhere before its victim half of the time, yet whatever runs between the two may undo
the pollution: in one real suite 20 shuffles exposed 2 of 12 victims. So orders are drawn from row-complete
Latin squares (Tuscan squares): over n orders of n tests every test runs right before every other exactly once.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite


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
