"""How a rule is applied to a test: to each function that the test runs, or only to those it calls itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._sites import cannot_run

Hit: TypeAlias = tuple[ReachedFunction, Sign]
Check: TypeAlias = Callable[[CaseContext], Iterable[Hit]]
Finder: TypeAlias = Callable[[ReachedFunction], Iterable[Sign]]  # searches one function
Condition: TypeAlias = Callable[[CaseContext], bool]
Selector: TypeAlias = Callable[[CaseContext, list[Hit]], Iterable[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionCheck:
    """A check of each function by itself, unless the test as a whole meets a condition."""

    find: Finder
    in_production: bool = True  # whether production code is checked, too
    in_far_calls: bool = False  # whether functions that are many calls away are checked, too
    unless: Condition | None = None
    select: Selector | None = None  # selects among all hits of a test

    def __call__(self, context: CaseContext) -> Iterable[Hit]:
        """The hits in one test."""
        hits = list(self._hits(context))
        if not hits or (self.unless is not None and self.unless(context)):
            return ()
        return hits if self.select is None else self.select(context, hits)

    def _hits(self, context: CaseContext) -> Iterator[Hit]:
        """The hits in all functions that the test runs and does not patch."""
        functions = context.functions if self.in_far_calls else context.near_functions
        for function in functions if self.in_production else context.test_code:
            signs = signs_in(function, self.find)
            if signs and not context.replaces(function):
                yield from (
                    (function, sign)
                    for sign in signs
                    if not context.replaces_call(function, sign.node) and not cannot_run(function, sign.node)
                )


def signs_in(function: ReachedFunction, find: Finder) -> tuple[Sign, ...]:
    """The signs that a finder finds in a function; computed once, also if several tests run the function."""
    signs: tuple[Sign, ...] | None = function.facts.results.get(find)
    if signs is None:
        signs = function.facts.results[find] = tuple(find(function))
    return signs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FindersByReach:
    """The finders of some rules, grouped by the functions that they search; compared by identity."""

    in_test_code: tuple[Finder, ...]  # all finders
    in_production: tuple[Finder, ...]
    in_far_calls: tuple[Finder, ...]

    def for_function(self, function: ReachedFunction) -> tuple[Finder, ...]:
        """The finders that search a function."""
        if function.is_far:
            return self.in_far_calls
        return self.in_production if function.is_production else self.in_test_code


def finders_of(checks: Iterable[Check]) -> FindersByReach:
    """The finders of the checks that look at each function by itself."""
    function_checks = [check for check in checks if isinstance(check, FunctionCheck)]
    return FindersByReach(
        in_test_code=tuple(check.find for check in function_checks),
        in_production=tuple(check.find for check in function_checks if check.in_production),
        in_far_calls=tuple(check.find for check in function_checks if check.in_far_calls),
    )


def finders_with_hits(context: CaseContext, finders: FindersByReach) -> set[Finder]:
    """The finders that find a sign in some function that a test runs."""
    with_hits: set[Finder] = set()
    for function in context.functions:
        with_hits |= _finders_with_hits_in(function, finders)
    return with_hits


def _finders_with_hits_in(function: ReachedFunction, finders: FindersByReach) -> frozenset[Finder]:
    applicable = finders.for_function(function)
    key = (id(finders), id(applicable))
    with_hits: frozenset[Finder] | None = function.facts.results.get(key)
    if with_hits is None:
        with_hits = frozenset(find for find in applicable if signs_in(function, find))
        function.facts.results[key] = with_hits
    return with_hits


def in_each_function(
    find: Finder, *, in_production: bool = True, in_far_calls: bool = False, unless: Condition | None = None
) -> FunctionCheck:
    """A check of each function by itself, unless the test as a whole meets a condition."""
    return FunctionCheck(find=find, in_production=in_production, in_far_calls=in_far_calls, unless=unless)


def in_direct_calls(find: Finder, *, unless: Condition | None = None) -> FunctionCheck:
    """Like `in_each_function`, but in production code only of functions that the test calls itself."""
    return FunctionCheck(find=find, unless=unless, select=_in_direct_calls)


def _in_direct_calls(_context: CaseContext, hits: list[Hit]) -> Iterable[Hit]:
    return [hit for hit in hits if not hit[0].is_production or len(hit[0].via) < 2]


def uses(*prefixes: str) -> Condition:
    """A condition: the test uses a name that starts with one of the prefixes."""
    return lambda context: context.uses(*prefixes)
