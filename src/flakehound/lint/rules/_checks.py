"""How a rule is applied to a test: to each function that it runs, or only to those that it calls itself."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._signs import Sign

Hit: TypeAlias = tuple[ReachedFunction, Sign]
Check: TypeAlias = Callable[[CaseContext], Iterable[Hit]]
Finder: TypeAlias = Callable[[ReachedFunction], Iterable[Sign]]  # looks at one function
Condition: TypeAlias = Callable[[CaseContext], bool]
Selector: TypeAlias = Callable[[CaseContext, list[Hit]], Iterable[Hit]]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FunctionCheck:
    """A check that looks at each function by itself, unless the test as a whole meets a condition."""

    find: Finder
    in_production: bool = True  # whether production code is looked at, too
    in_far_calls: bool = False  # even what is many calls away
    unless: Condition | None = None
    select: Selector | None = None  # chooses among all hits of a test

    def __call__(self, context: CaseContext) -> Iterable[Hit]:
        """The hits in one test."""
        found = list(self._hits(context))
        if not found or (self.unless is not None and self.unless(context)):
            return ()
        return found if self.select is None else self.select(context, found)

    def _hits(self, context: CaseContext) -> Iterator[Hit]:
        """The hits in all that the test runs, without what it patches."""
        functions = context.functions if self.in_far_calls else context.near_functions
        for function in functions if self.in_production else context.test_code:
            found = signs_in(function, self.find)
            if found and not context.replaces(function):
                yield from ((function, one) for one in found if not context.replaces_call(function, one.node))


def signs_in(function: ReachedFunction, find: Finder) -> tuple[Sign, ...]:
    """The signs that a finder finds in a function; computed once, however many tests run the function."""
    found: tuple[Sign, ...] | None = function.facts.results.get(find)
    if found is None:
        found = function.facts.results[find] = tuple(find(function))
    return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FindersByReach:
    """The finders of some rules, by how far from the test they look; compared by identity."""

    in_test_code: tuple[Finder, ...]  # all of them
    in_production: tuple[Finder, ...]
    in_far_calls: tuple[Finder, ...]

    def for_function(self, function: ReachedFunction) -> tuple[Finder, ...]:
        """Those that look at a function."""
        if function.is_far:
            return self.in_far_calls
        return self.in_production if function.is_production else self.in_test_code


def finders_of(checks: Iterable[Check]) -> FindersByReach:
    """The finders of those checks that look at functions one by one."""
    found = [check for check in checks if isinstance(check, FunctionCheck)]
    return FindersByReach(
        in_test_code=tuple(one.find for one in found),
        in_production=tuple(one.find for one in found if one.in_production),
        in_far_calls=tuple(one.find for one in found if one.in_far_calls),
    )


def finders_with_hits(context: CaseContext, finders: FindersByReach) -> set[Finder]:
    """The finders that find a sign somewhere in what a test runs."""
    found: set[Finder] = set()
    for function in context.functions:
        found |= _finders_with_hits_in(function, finders)
    return found


def _finders_with_hits_in(function: ReachedFunction, finders: FindersByReach) -> frozenset[Finder]:
    chosen = finders.for_function(function)
    key = (id(finders), id(chosen))
    found: frozenset[Finder] | None = function.facts.results.get(key)
    if found is None:
        hits = frozenset(find for find in chosen if signs_in(function, find))
        found = function.facts.results[key] = hits
    return found


def in_each_function(
    find: Finder, *, in_production: bool = True, in_far_calls: bool = False, unless: Condition | None = None
) -> FunctionCheck:
    """A check of each function by itself, unless the test as a whole meets a condition."""
    return FunctionCheck(find=find, in_production=in_production, in_far_calls=in_far_calls, unless=unless)


def in_direct_calls(find: Finder, *, unless: Condition | None = None) -> FunctionCheck:
    """Like `in_each_function`, but of production code only what the test calls itself: deeper it seldom matters"""
    return FunctionCheck(find=find, unless=unless, select=_called_by_the_test)


def _called_by_the_test(_context: CaseContext, hits: list[Hit]) -> Iterable[Hit]:
    return [hit for hit in hits if not hit[0].is_production or len(hit[0].via) < 2]


def uses(*prefixes: str) -> Condition:
    """A condition: the test uses something whose full name has one of the prefixes."""
    return lambda context: context.uses(*prefixes)
