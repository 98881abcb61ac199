"""A default argument keeps what the last call left in it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import FunctionNode
from flakehound.lint.rules.module_state import MUTATORS


def _look(part: Part) -> Iterator[Sign]:
    if isinstance(part.function, FunctionNode):
        for argument, default in _defaults(part.function):
            if isinstance(default, ast.List | ast.Dict | ast.Set) and _is_changed(part, argument.arg):
                yield Sign(
                    default,
                    f"the default of {argument.arg!r} in {part.name}() keeps what the last call left in it",
                )


def _defaults(function: FunctionNode) -> Iterator[tuple[ast.arg, ast.expr]]:
    spec = function.args
    positional = [*spec.posonlyargs, *spec.args]
    yield from zip(positional[len(positional) - len(spec.defaults) :], spec.defaults, strict=True)
    yield from ((one, default) for one, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default)


def _is_changed(part: Part, name: str) -> bool:
    if name in part.sights.bound:
        return False
    for target, _statement in part.sights.assigned:
        if isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name) and target.value.id == name:
            return True
    functions = [call.node.func for call in part.sights.calls]
    return any(
        isinstance(one, ast.Attribute)
        and one.attr in MUTATORS
        and isinstance(one.value, ast.Name)
        and one.value.id == name
        for one in functions
    )


RULE = Rule(
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
    check=in_each(_look),
)
