"""A check for changes that outlive a test."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import Condition, Finder, FunctionCheck, Hit
from flakehound.lint.rules._signs import Sign
from flakehound.lint.source.syntax_walk import nodes_of

_TEARDOWNS = frozenset(
    {
        "asyncTearDown",
        "tearDown",
        "tearDownClass",
        "tearDownModule",
        "teardown",
        "teardown_class",
        "teardown_function",
        "teardown_method",
        "teardown_module",
    }
)
_ENTERING_METHODS = frozenset({"__aenter__", "__enter__"})
_CLEANUP_FUNCTIONS = frozenset({"addClassCleanup", "addCleanup", "addModuleCleanup", "addfinalizer", "callback"})


def for_lasting_changes(
    find: Finder, *, in_production: bool = True, unless: Condition | None = None
) -> FunctionCheck:
    """A check for changes of state that tests share.

    Ignores functions that undo the change, tests whose tear-down changes the state again, and fixtures that run
    before every test: a change that all tests make does not make one depend on another.
    """

    def find_lasting(function: ReachedFunction) -> tuple[Sign, ...]:
        signs = tuple(find(function))
        return () if is_undone(function, signs) else signs

    return FunctionCheck(find=find_lasting, in_production=in_production, unless=unless, select=_without_tear_down)


def _without_tear_down(_context: CaseContext, hits: list[Hit]) -> list[Hit]:
    if any(_is_in_teardown(function) for function, _sign in hits):
        return []
    return [hit for hit in hits if not hit[0].runs_before_every_test]


def _is_in_teardown(function: ReachedFunction) -> bool:
    return any(name.rpartition(".")[2] in _TEARDOWNS for name in function.via)


def is_undone(function: ReachedFunction, signs: tuple[Sign, ...]) -> bool:
    """Whether a function registers a clean-up, or has changes in a `finally` or before and after a `yield`."""
    if signs and function.name in _ENTERING_METHODS and _has_leaving_method(function):
        return True
    if signs and any(call.short_name in _CLEANUP_FUNCTIONS for call in function.facts.calls):
        return True
    if not signs:
        return False
    lines = [getattr(sign.node, "lineno", 0) for sign in signs]
    yields = [node.lineno for node in nodes_of(function.node) if isinstance(node, ast.Yield)]
    # A change after the only `yield` puts back what something else changed.
    return any(min(lines) < line < max(lines) or line < min(lines) for line in yields) or any(
        first <= line <= last for first, last in _finally_line_ranges(function.node) for line in lines
    )


def _has_leaving_method(function: ReachedFunction) -> bool:
    body = function.owner.body if function.owner else []
    return any(getattr(node, "name", "") in ("__aexit__", "__exit__") for node in body)


def is_in_finally(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether a node is in a `finally` block."""
    line = getattr(node, "lineno", 0)
    return any(first <= line <= last for first, last in _finally_line_ranges(function.node))


def _finally_line_ranges(function: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last lines of the `finally` blocks."""
    for node in nodes_of(function):
        body = getattr(node, "finalbody", None)
        if body:
            yield body[0].lineno, body[-1].end_lineno or body[-1].lineno
