"""The suite's tests in groups of consecutive tests: what a search in a long suite runs in one process.

One fork per test costs more than the tests themselves in a suite of thousands. One process per group of about √n
tests costs little, and whatever has an effect on another test is then searched within one group.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from math import ceil, isqrt

from flakehound.core.order_memo import OrderMemo
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.hunt import long_limits


class SuiteGroups:
    """Every test in one group; a group is one file, a part of a large file, or several small files."""

    def __init__(self, suite: Suite, excluded: frozenset[NodeId] = frozenset()) -> None:
        self._suite = suite
        self._excluded = excluded
        self._numbers_in = OrderMemo[list[int]]()

    @cached_property
    def groups(self) -> list[Order]:
        """The groups, in the original order."""
        files = [
            tuple(test for test in tests if test not in self._excluded)
            for tests in self._suite.groups("module").values()
        ]
        return list(_joined_and_split(files, self.max_size))

    @property
    def max_size(self) -> int:
        """The largest number of tests in a group."""
        return max(long_limits.MIN_GROUP_SIZE, isqrt(len(self._suite.tests)))

    @cached_property
    def number_of(self) -> dict[NodeId, int]:
        """The number of the group that a test is in."""
        return {test: number for number, group in enumerate(self.groups) for test in group}

    def numbers_in(self, tests: Order) -> list[int]:
        """The numbers of the groups that have at least one of these tests, in the original order."""
        return self._numbers_in.value(tests, self._find_numbers_in)

    def _find_numbers_in(self, tests: Order) -> list[int]:
        return sorted({self.number_of[test] for test in tests if test in self.number_of})

    def without(self, number: int, test: NodeId) -> Order:
        """The tests of a group except this one."""
        group = self.groups[number]
        return tuple(other for other in group if other != test) if self.number_of.get(test) == number else group


def _joined_and_split(files: list[Order], max_size: int) -> Iterator[Order]:
    joined: Order = ()
    for file in files:
        if joined and len(joined) + len(file) > max_size:
            yield joined
            joined = ()
        if len(file) <= max_size:
            joined += file
            continue
        parts = ceil(len(file) / max_size)
        for part in range(parts):
            yield file[len(file) * part // parts : len(file) * (part + 1) // parts]
    if joined:
        yield joined
