"""A test relies on the order of a set."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_direct_calls
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign

_SET_OPERATORS = (ast.BitAnd, ast.BitOr, ast.Sub, ast.BitXor)
_SET_METHODS = frozenset({"difference", "intersection", "symmetric_difference", "union"})
_ORDER_DEPENDENT_FUNCTIONS = frozenset(
    {"array", "enumerate", "iter", "list", "map", "next", "repr", "str", "tuple", "zip"}
)


def is_set(function: ReachedFunction, node: ast.expr, depth: int = 4) -> bool:
    """Whether an expression is a set, as far as the function shows."""
    node = function.facts.value_of(node)
    if isinstance(node, ast.Set | ast.SetComp):
        return True
    if isinstance(node, ast.Call):
        return _makes_set(function, node, depth)
    if isinstance(node, ast.BinOp) and isinstance(node.op, _SET_OPERATORS) and depth:
        return is_set(function, node.left, depth - 1) or is_set(function, node.right, depth - 1)
    return False


def _makes_set(function: ReachedFunction, node: ast.Call, depth: int) -> bool:
    if isinstance(node.func, ast.Name):
        return node.func.id in ("set", "frozenset")
    if isinstance(node.func, ast.Attribute) and depth:
        return node.func.attr in _SET_METHODS and is_set(function, node.func.value, depth - 1)
    return False


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        first = call.argument(0)
        if (
            call.short_name in _ORDER_DEPENDENT_FUNCTIONS
            and "." not in call.name
            and first is not None
            and is_set(function, first)
        ):
            if not is_order_irrelevant(call.parents) and (
                function.is_production or call.short_name in ("list", "tuple", "next", "str")
            ):
                yield Sign(call.node, f"{call.name}() of a set has another order in every process")
        elif call.short_name == "join" and first is not None and is_set(function, first):
            yield Sign(call.node, "join() of a set has another order in every process")
        elif call.short_name == "pop" and not call.node.args and _is_pop_of_set(function, call.node):
            yield Sign(call.node, "pop() of a set takes another element in every process")


def _is_pop_of_set(function: ReachedFunction, node: ast.Call) -> bool:
    return isinstance(node.func, ast.Attribute) and is_set(function, node.func.value)


_ORDER_INDEPENDENT_FUNCTIONS = frozenset(
    {
        "Counter",
        "all",
        "any",
        "assertCountEqual",
        "assertItemsEqual",
        "assertSetEqual",
        "frozenset",
        "len",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
    }
)


def is_order_irrelevant(parents: tuple[ast.AST, ...]) -> bool:
    """Whether the order of an expression is irrelevant because of the nodes around it."""
    for parent in parents:
        if isinstance(parent, ast.Call):
            name = parent.func.id if isinstance(parent.func, ast.Name) else getattr(parent.func, "attr", "")
            if name in _ORDER_INDEPENDENT_FUNCTIONS:
                return True
        if isinstance(parent, ast.Compare) and any(
            isinstance(operator, ast.In | ast.NotIn) for operator in parent.ops
        ):
            return True
    return False


RULE = LintRule(
    id="FH601",
    name="unordered-as-ordered",
    cause=Cause.UNORDERED_COLLECTION,
    title="A set is used as if it had an order",
    why="The order of a set of strings hangs on the hash seed, which is another one in every process.",
    fix="Compare sets with sets, or sort before you compare.",
    bad="def test_tags():\n    assert list({'a', 'b'}) == ['a', 'b']\n",
    good="def test_tags():\n    assert sorted({'a', 'b'}) == ['a', 'b']\n",
    check=in_direct_calls(_find),
)
