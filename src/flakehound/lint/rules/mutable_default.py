"""A mutable default argument keeps changes of earlier calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules.module_state import MUTATING_METHODS
from flakehound.lint.source.scopes import FunctionNode


def _find(function: ReachedFunction) -> Iterator[Sign]:
    if isinstance(function.node, FunctionNode):
        for argument, default in _defaults(function.node):
            if isinstance(default, ast.List | ast.Dict | ast.Set) and _is_changed(function, argument.arg):
                yield Sign(
                    default,
                    f"the default of {argument.arg!r} in {function.name}() keeps what the last call left in it",
                )


def _defaults(function: FunctionNode) -> Iterator[tuple[ast.arg, ast.expr]]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    yield from zip(positional[len(positional) - len(arguments.defaults) :], arguments.defaults, strict=True)
    yield from (
        (argument, default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        if default
    )


def _is_changed(function: ReachedFunction, name: str) -> bool:
    if name in function.facts.bindings:
        return False
    for target, _statement in function.facts.assignments:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            return True
    callees = [call.node.func for call in function.facts.calls]
    return any(
        isinstance(callee, ast.Attribute)
        and callee.attr in MUTATING_METHODS
        and isinstance(callee.value, ast.Name)
        and callee.value.id == name
        for callee in callees
    )


RULE = LintRule(
    id="FH911",
    name="mutable-default",
    cause=Cause.TEST_ORDER,
    title="A mutable default argument is changed",
    why="The default is created once; every call without the argument changes the same object.",
    fix="Use `None` as default and create the list in the function.",
    bad="def cart_with(item, cart=[]):\n    cart.append(item)\n    return cart\n\ndef test_cart():\n "
    "   assert cart_with(1) == [1]\n",
    good="def cart_with(item, cart=None):\n    return [*(cart or []), item]\n\ndef test_cart():\n    "
    "assert cart_with(1) == [1]\n",
    check=in_each_function(_find),
)
