"""Select characteristic functions from data: algorithm 1 of CALLS, greedily by F-beta.

A set of tests is an integer with one bit per test, so that unions and counts are single operations on integers.
Functions that are called by the same tests are one candidate. A round recounts only the candidates that can still
be the best: what a function would add never grows while others are selected.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.calls.characteristic_functions import assigned_cause
from flakehound.core.calls import Function
from flakehound.core.verdicts import Cause

BitSet = int  # bit n is set if test n is in the set


@dataclass(frozen=True, slots=True, kw_only=True)
class TracedTest:
    """One test of a data set."""

    project: str
    is_flaky: bool
    functions: frozenset[Function]
    cause: Cause | None = None  # labelled by hand; None: not labelled


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseFunction:
    """A function that was selected for a cause."""

    function: Function
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class CallShares:
    """How many tests call at least one of some functions."""

    flaky_callers: int
    flaky_tests: int
    callers: int
    tests: int

    @property
    def flaky_share(self) -> float:
        """The share of the flaky tests that call one: recall."""
        return self.flaky_callers / self.flaky_tests if self.flaky_tests else 0.0

    @property
    def share(self) -> float:
        """The share of all tests that call one."""
        return self.callers / self.tests if self.tests else 0.0


class CallTable:
    """Which tests of a data set call each function."""

    def __init__(self, tests: Sequence[TracedTest], kinds: Iterable[str] = ("python", "c")) -> None:
        self.size = len(tests)
        self.flaky = bit_set(number for number, test in enumerate(tests) if test.is_flaky)
        callers: dict[Function, list[int]] = {}
        for number, test in enumerate(tests):
            for function in test.functions:
                callers.setdefault(function, []).append(number)
        included_kinds = frozenset(kinds)
        self.callers: dict[Function, BitSet] = {
            function: bit_set(callers[function])
            for function in sorted(callers, key=_sort_key)
            if function.kind in included_kinds
        }

    def callers_of_any(self, functions: Iterable[Function]) -> BitSet:
        """The tests that call at least one of the functions."""
        tests = 0
        for function in functions:
            tests |= self.callers.get(function, 0)
        return tests


def bit_set(numbers: Iterable[int]) -> BitSet:
    """The set of these numbers."""
    numbers = list(numbers)
    packed = bytearray(max(numbers, default=0) // 8 + 1)
    for number in numbers:
        packed[number >> 3] |= 1 << (number & 7)
    return int.from_bytes(packed, "little")


def _sort_key(function: Function) -> tuple[str, str, str, str]:
    return (function.owner, function.name, function.file, function.kind)


def f_beta(true_positives: int, false_positives: int, positives: int, beta: float) -> float:
    """The F-beta score of a set of tests; a larger beta prefers recall."""
    weight = beta * beta
    denominator = weight * positives + true_positives + false_positives
    return (1.0 + weight) * true_positives / denominator if denominator else 0.0


@dataclass(slots=True)
class _Candidate:
    """A function, and what its selection would add; counted when the selection had fewer functions."""

    number: int  # in the order of functions
    function: Function
    callers: BitSet
    new_positives: int
    new_negatives: int
    negatives_when_counted: int  # in the selection


@dataclass(slots=True)
class _Selection:
    """The tests that call one of the functions selected so far."""

    positives: BitSet  # all of them
    positive_count: int
    universe: BitSet
    beta: float
    tests: BitSet = 0
    true_positives: int = 0
    false_positives: int = 0

    def best_f_beta_with(self, new_positives: int) -> float:
        """The largest F-beta that is possible with a candidate that adds this many positives."""
        return self._f_beta_with(new_positives, 0)

    def best_f_beta(self, candidate: _Candidate) -> float:
        """The largest F-beta that is possible with the candidate, without counting again."""
        selected_since = self.false_positives - candidate.negatives_when_counted
        return self._f_beta_with(candidate.new_positives, max(0, candidate.new_negatives - selected_since))

    def recount(self, candidate: _Candidate) -> float:
        """Count what the candidate would add; returns the F-beta with it."""
        new = candidate.callers & self.universe & ~self.tests
        candidate.new_positives = (new & self.positives).bit_count()
        candidate.new_negatives = new.bit_count() - candidate.new_positives
        candidate.negatives_when_counted = self.false_positives
        return self._f_beta_with(candidate.new_positives, candidate.new_negatives)

    def _f_beta_with(self, new_positives: int, new_negatives: int) -> float:
        true_positives = self.true_positives + new_positives
        return f_beta(true_positives, self.false_positives + new_negatives, self.positive_count, self.beta)

    def add(self, candidate: _Candidate) -> None:
        """Select the candidate."""
        self.tests |= candidate.callers & self.universe
        self.true_positives = (self.tests & self.positives).bit_count()
        self.false_positives = self.tests.bit_count() - self.true_positives


def select_functions(
    callers: Mapping[Function, BitSet], positives: BitSet, universe: BitSet, beta: float
) -> list[Function]:
    """Add the function that raises F-beta most until none does; the first in order if several are equal."""
    waiting: dict[int, list[_Candidate]] = {}  # by the largest number of positives that they can add
    for candidate in _candidates(callers, positives, universe):
        waiting.setdefault(candidate.new_positives, []).append(candidate)
    selection = _Selection(positives, positives.bit_count(), universe, beta)
    score = 0.0
    selected: list[Function] = []
    while (best := _best_candidate(waiting, selection, score)) is not None:
        score, winner = best
        selection.add(winner)
        selected.append(winner.function)
        waiting[winner.new_positives].remove(winner)
    return selected


def _best_candidate(
    waiting: dict[int, list[_Candidate]], selection: _Selection, score: float
) -> tuple[float, _Candidate] | None:
    """The candidate with the largest F-beta above the score, and that F-beta; None if there is none.

    Recounts the candidates that can be the best, the most promising first, and sorts them into `waiting` again.
    """
    best, winner = score, None
    for new_positives in sorted(waiting, reverse=True):
        if not new_positives or selection.best_f_beta_with(new_positives) < best:
            break
        unchanged = []
        for candidate in waiting[new_positives]:
            if selection.best_f_beta(candidate) >= best:
                value = selection.recount(candidate)
                if value > best or (value == best and winner is not None and candidate.number < winner.number):
                    best, winner = value, candidate
            if candidate.new_positives == new_positives:
                unchanged.append(candidate)
            elif candidate.new_positives:
                waiting.setdefault(candidate.new_positives, []).append(candidate)
        waiting[new_positives] = unchanged
    return (best, winner) if winner is not None else None


def _candidates(callers: Mapping[Function, BitSet], positives: BitSet, universe: BitSet) -> list[_Candidate]:
    """The functions that some positive test calls; only the first of those that the same tests call."""
    by_callers: dict[BitSet, _Candidate] = {}
    negatives = universe & ~positives
    for number, (function, bits) in enumerate(callers.items()):
        new_positives = (bits & positives).bit_count()
        if new_positives and bits & universe not in by_callers:
            new_negatives = (bits & negatives).bit_count()
            by_callers[bits & universe] = _Candidate(number, function, bits, new_positives, new_negatives, 0)
    return list(by_callers.values())


def select_for_flaky(table: CallTable, beta: float, among: BitSet | None = None) -> list[Function]:
    """Select functions that mark the flaky tests, among all tests or some of them."""
    universe = (1 << table.size) - 1 if among is None else among
    return select_functions(table.callers, table.flaky & universe, universe, beta)


def select_by_cause(tests: Sequence[TracedTest], table: CallTable, beta: float) -> list[CauseFunction]:
    """Select functions for each labelled cause separately; returns the union.

    Flaky tests without a label are left out, because they may have any cause.
    """
    universe = bit_set(number for number, test in enumerate(tests) if test.cause or not test.is_flaky)
    causes = sorted({test.cause for test in tests if test.cause and test.is_flaky}, key=lambda cause: cause.value)
    union: dict[Function, CauseFunction] = {}
    for cause in causes:
        positives = bit_set(number for number, test in enumerate(tests) if test.is_flaky and test.cause is cause)
        for function in select_functions(table.callers, positives, universe, beta):
            union.setdefault(function, CauseFunction(function=function, cause=cause))
    return list(union.values())


def call_shares(table: CallTable, functions: Iterable[Function], among: BitSet | None = None) -> CallShares:
    """How many tests, of all tests or some of them, call at least one of the functions."""
    universe = (1 << table.size) - 1 if among is None else among
    callers = table.callers_of_any(functions) & universe
    return CallShares(
        flaky_callers=(callers & table.flaky).bit_count(),
        flaky_tests=(table.flaky & universe).bit_count(),
        callers=callers.bit_count(),
        tests=universe.bit_count(),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionFold:
    """One fold of a cross-validation: functions selected on the other folds, and their callers in this one."""

    functions: tuple[Function, ...]
    held_out: CallShares


def cross_validate_selection(
    table: CallTable, beta: float, folds: int, seed: int, show_progress: Callable[[int], None] = lambda _fold: None
) -> list[SelectionFold]:
    """Select functions k times, each time without one fold."""
    numbers = list(range(table.size))
    random.Random(seed).shuffle(numbers)
    every_test = (1 << table.size) - 1
    results = []
    for fold in range(folds):
        held_out = bit_set(numbers[fold::folds]) if numbers[fold::folds] else 0
        functions = select_for_flaky(table, beta, every_test & ~held_out)
        results.append(SelectionFold(functions=tuple(functions), held_out=call_shares(table, functions, held_out)))
        show_progress(fold + 1)
    return results


@dataclass(frozen=True, slots=True, kw_only=True)
class SelectionQuality:
    """How many selected functions are plausible characteristic functions (table 5.3 of CALLS)."""

    original: int
    solo: int  # called by flaky tests of at most one project
    cryptic: int  # without a known cause
    remaining: tuple[Function, ...]


def selection_quality(
    functions: Sequence[Function],
    tests: Sequence[TracedTest],
    table: CallTable,
    cause_of: Callable[[Function], Cause | None] = assigned_cause,
) -> SelectionQuality:
    """Count solo and cryptic functions; the others remain."""
    solo = {function for function in functions if not _has_two_flaky_projects(function, tests, table)}
    cryptic = {function for function in functions if cause_of(function) is None}
    return SelectionQuality(
        original=len(functions),
        solo=len(solo),
        cryptic=len(cryptic),
        remaining=tuple(function for function in functions if function not in solo and function not in cryptic),
    )


def _has_two_flaky_projects(function: Function, tests: Sequence[TracedTest], table: CallTable) -> bool:
    """Whether flaky tests of at least two projects call the function."""
    callers = table.callers.get(function, 0) & table.flaky
    projects: set[str] = set()
    while callers and len(projects) < 2:
        lowest = (callers & -callers).bit_length() - 1
        projects.add(tests[lowest].project)
        callers &= callers - 1
    return len(projects) >= 2
