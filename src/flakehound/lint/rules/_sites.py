"""How much a place in the source says about a test; code that the test may not run says little."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.guards import is_conditional, never_runs

_CONSTRUCTORS = frozenset({"__init__", "__init_subclass__", "__new__", "__post_init__", "__attrs_post_init__"})


def weakness_of(function: ReachedFunction, node: ast.AST) -> str:
    """Why a finding at a node says little about the test; "" if it says something."""
    if function.is_far or (function.is_production and _production_calls(function) > 1):
        return "several calls away from the test"
    if function.is_production and function.name in _CONSTRUCTORS:
        return "in a constructor"
    if function.is_production and is_conditional(function, node):
        return "under a condition"
    return ""


def cannot_run(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether the call that leads to a function leaves out what a condition around the node asks for."""
    return function.caller is not None and never_runs(function, node)


def _production_calls(function: ReachedFunction) -> int:
    """How many production functions are on the way from test code to a function, with itself."""
    return sum(1 for step in _callers(function) if step.is_production)


def _callers(function: ReachedFunction) -> Iterator[ReachedFunction]:
    step: ReachedFunction | None = function
    while step is not None:
        yield step
        step = step.caller
