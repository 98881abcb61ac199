"""A default argument keeps what the last call left in it."""

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


def _defaults(callee: FunctionNode) -> Iterator[tuple[ast.arg, ast.expr]]:
    spec = callee.args
    positional = [*spec.posonlyargs, *spec.args]
    yield from zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
    yield from ((one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default)


def _is_changed(function: ReachedFunction, name: str) -> bool:
    if name in function.facts.bindings:
        return False
    for target, _statement in function.facts.assignments:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            return True
    functions = [call.node.func for call in function.facts.calls]
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in MUTATING_METHODS
        and isinstance(one.value, ast.Name)
        and one.value.id == name
        for one in functions
    )


RULE = LintRule(
    id="FH911",
    name="mutable-default",
    cause=Cause.TEST_ORDER,
    title="A mutable default argument is changed",
    why="The default is made once; every call without the argument adds to the same object.",
    fix="Default to `None` and make the list in the function.",
    bad="def cart_with(item, cart=[]):\n    cart.append(item)\n    return cart\n\ndef test_cart():\n "
    "   assert cart_with(1) == [1]\n",
    good="def cart_with(item, cart=None):\n    return [*(cart or []), item]\n\ndef test_cart():\n    "
    "assert cart_with(1) == [1]\n",
    check=in_each_function(_find),
)
