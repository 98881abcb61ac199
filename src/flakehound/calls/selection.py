"""Select characteristic functions automatically: algorithm 1 of the source, greedily by F-beta.

A set of tests is an integer with one bit per test, so that sets are joined and counted by the machine, not by
Python. Functions called by the same tests are one candidate. A round counts anew only those candidates that could
still be the best: what a function would add never grows while others are selected.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.calls.characteristic_functions import assigned_cause
from flakehound.core.calls import Function
from flakehound.core.verdicts import Cause

Bits = int


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTest:
    """One test of a data set."""

    project: str
    is_flaky: bool
    functions: frozenset[Function]
    cause: Cause | None = None  # labelled by hand; None: not labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFunction:
    """A function that was selected."""

    function: Function
    cause: Cause | None = None  # for which it was selected; None: for all


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShares:
    """How many tests call one of some functions."""

    flaky: int
    of_flaky: int
    tests: int
    of_tests: int

    @property
    def flaky_share(self) -> float:
        """Of the flaky tests: recall."""
        return self.flaky / self.of_flaky if self.of_flaky else 0.0

    @property
    def share(self) -> float:
        """Of all tests."""
        return self.tests / self.of_tests if self.of_tests else 0.0


class CallTable:
    """A data set by function: which tests call it."""

    def __init__(self, tests: Sequence[TracedTest], kinds: Iterable[str] = ("python", "c")) -> None:
        self.size = len(tests)
        self.flaky = bit_set(place for place, test in enumerate(tests) if test.is_flaky)
        places: dict[Function, list[int]] = {}
        for place, test in enumerate(tests):
            for function in test.functions:
                places.setdefault(function, []).append(place)
        kept = frozenset(kinds)
        self.callers: dict[Function, Bits] = {
            function: bit_set(places[function])
            for function in sorted(places, key=_in_order)
            if function.kind in kept
        }

    def exposed(self, functions: Iterable[Function]) -> Bits:
        """The tests that call one of them."""
        found = 0
        for function in functions:
            found |= self.callers.get(function, 0)
        return found


def bit_set(places: Iterable[int]) -> Bits:
    """A set of places."""
    numbers = list(places)
    packed = bytearray(max(numbers, default=0) // 8 + 1)
    for place in numbers:
        packed[place >> 3] |= 1 << (place & 7)
    return int.from_bytes(packed, "little")


def _in_order(function: Function) -> tuple[str, str, str, str]:
    return (function.owner, function.name, function.file, function.kind)


def f_beta(found: int, wrong: int, positives: int, beta: float) -> float:
    """F-beta of a set that holds `found` of the positives and `wrong` others; a larger beta prefers recall."""
    weight = beta * beta
    below = weight * positives + found + wrong
    return (1.0 + weight) * found / below if below else 0.0


@dataclass(slots=True)
class _Candidate:
    place: int  # in the order of functions
    function: Function
    callers: Bits
    right: int  # positives it would add when it was last counted
    wrong: int  # others it would add
    wrong_before: int  # others selected already at that time


@dataclass(slots=True)
class _Selection:
    """What is selected so far."""

    positives: Bits
    total: int  # positives
    universe: Bits
    beta: float
    covered: Bits = 0
    found: int = 0
    wrong: int = 0

    def best_with(self, right: int) -> float:
        """What F-beta could be at most with a candidate that adds so many positives."""
        return self._value(right, 0)

    def best_case(self, candidate: _Candidate) -> float:
        """What F-beta could be with it at most, without counting."""
        least_wrong = max(0, candidate.wrong - (self.wrong - candidate.wrong_before))
        return self._value(candidate.right, least_wrong)

    def counted(self, candidate: _Candidate) -> float:
        """What F-beta would be with it."""
        added = candidate.callers & self.universe & ~self.covered
        candidate.right = (added & self.positives).bit_count()
        candidate.wrong = added.bit_count() - candidate.right
        candidate.wrong_before = self.wrong
        return self._value(candidate.right, candidate.wrong)

    def _value(self, right: int, wrong: int) -> float:
        return f_beta(self.found + right, self.wrong + wrong, self.total, self.beta)

    def add(self, candidate: _Candidate) -> None:
        """Select it."""
        self.covered |= candidate.callers & self.universe
        self.found = (self.covered & self.positives).bit_count()
        self.wrong = self.covered.bit_count() - self.found


def select_functions(
    callers: Mapping[Function, Bits], positives: Bits, universe: Bits, beta: float
) -> list[Function]:
    """Add the function that raises F-beta most, until none does; the first in order where several tie."""
    waiting: dict[int, list[_Candidate]] = {}  # by the positives they would add at most
    for candidate in _candidates(callers, positives, universe):
        waiting.setdefault(candidate.right, []).append(candidate)
    state = _Selection(positives, positives.bit_count(), universe, beta)
    reached = 0.0
    chosen: list[Function] = []
    while (best := _best(waiting, state, reached)) is not None:
        reached, winner = best
        state.add(winner)
        chosen.append(winner.function)
        waiting[winner.right].remove(winner)
    return chosen


def _best(
    waiting: dict[int, list[_Candidate]], state: _Selection, reached: float
) -> tuple[float, _Candidate] | None:
    """Count those that could be the best, the most promising first, and put each where it belongs by now."""
    best, winner = reached, None
    for right in sorted(waiting, reverse=True):
        if not right or state.best_with(right) < best:
            break
        kept = []
        for candidate in waiting[right]:
            if state.best_case(candidate) >= best:
                value = state.counted(candidate)
                if value > best or (value == best and winner is not None and candidate.place < winner.place):
                    best, winner = value, candidate
            if candidate.right == right:
                kept.append(candidate)
            elif candidate.right:
                waiting.setdefault(candidate.right, []).append(candidate)
        waiting[right] = kept
    return (best, winner) if winner is not None else None


def _candidates(callers: Mapping[Function, Bits], positives: Bits, universe: Bits) -> list[_Candidate]:
    """The functions that some positive calls, one of those that the same tests call."""
    once: dict[Bits, _Candidate] = {}
    others = universe & ~positives
    for place, (function, bits) in enumerate(callers.items()):
        right = (bits & positives).bit_count()
        if right and bits & universe not in once:
            once[bits & universe] = _Candidate(place, function, bits, right, (bits & others).bit_count(), 0)
    return list(once.values())


def select_flaky(columns: CallTable, beta: float, within: Bits | None = None) -> list[Function]:
    """Functions that mark the flaky tests, of some tests or of all."""
    universe = (1 << columns.size) - 1 if within is None else within
    return select_functions(columns.callers, columns.flaky & universe, universe, beta)


def select_by_cause(tests: Sequence[TracedTest], columns: CallTable, beta: float) -> list[CauseFunction]:
    """Functions selected for each labelled cause apart, joined.

    Flaky tests without a label are left out: they may have any cause.
    """
    universe = bit_set(place for place, test in enumerate(tests) if test.cause or not test.is_flaky)
    causes = sorted({test.cause for test in tests if test.cause and test.is_flaky}, key=lambda cause: cause.value)
    union: dict[Function, CauseFunction] = {}
    for cause in causes:
        positives = bit_set(place for place, test in enumerate(tests) if test.is_flaky and test.cause is cause)
        for function in select_functions(columns.callers, positives, universe, beta):
            union.setdefault(function, CauseFunction(function=function, cause=cause))
    return list(union.values())


def call_shares(columns: CallTable, functions: Iterable[Function], within: Bits | None = None) -> CallShares:
    """How many tests, of some or of all, call one of the functions."""
    universe = (1 << columns.size) - 1 if within is None else within
    exposed = columns.exposed(functions) & universe
    return CallShares(
        flaky=(exposed & columns.flaky).bit_count(),
        of_flaky=(columns.flaky & universe).bit_count(),
        tests=exposed.bit_count(),
        of_tests=universe.bit_count(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Fold:
    """One part of a cross-validation: selected on the others, judged on this one."""

    functions: tuple[Function, ...]
    held_out: CallShares


def cross_validated(
    columns: CallTable, beta: float, folds: int, seed: int, tell: Callable[[int], None] = lambda _fold: None
) -> list[Fold]:
    """k-fold: each part once held out."""
    places = list(range(columns.size))
    random.Random(seed).shuffle(places)
    everything = (1 << columns.size) - 1
    found = []
    for number in range(folds):
        held_out = bit_set(places[number::folds]) if places[number::folds] else 0
        functions = select_flaky(columns, beta, everything & ~held_out)
        found.append(Fold(functions=tuple(functions), held_out=call_shares(columns, functions, held_out)))
        tell(number + 1)
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionQuality:
    """How many selected functions are sensibly characteristic (table 5.3)."""

    original: int
    solo: int  # mark flaky tests of one project at most
    cryptic: int  # no cause is known for them
    remaining: tuple[Function, ...]


def selection_quality(
    functions: Sequence[Function],
    tests: Sequence[TracedTest],
    columns: CallTable,
    cause_of: Callable[[Function], Cause | None] = assigned_cause,
) -> SelectionQuality:
    """Count solo and cryptic functions, and keep those that are neither."""
    solo = {function for function in functions if len(_flaky_projects(function, tests, columns)) <= 1}
    cryptic = {function for function in functions if cause_of(function) is None}
    return SelectionQuality(
        original=len(functions),
        solo=len(solo),
        cryptic=len(cryptic),
        remaining=tuple(function for function in functions if function not in solo and function not in cryptic),
    )


def _flaky_projects(function: Function, tests: Sequence[TracedTest], columns: CallTable) -> set[str]:
    bits = columns.callers.get(function, 0) & columns.flaky
    found: set[str] = set()
    while bits and len(found) < 2:
        place = (bits & -bits).bit_length() - 1
        found.add(tests[place].project)
        bits &= bits - 1
    return found
