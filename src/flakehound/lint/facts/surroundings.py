"""What is around a place in a function: loops, inner functions, blocks that expect an exception, later checks."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import nodes_of

_Lines = tuple[int, int]  # first and last
_ROUNDING_FUNCTIONS = frozenset({"float", "int", "round", "str"})
_EXPECTING_FUNCTIONS = frozenset(
    {
        "assertRaises",
        "assertRaisesRegex",
        "fail_after",
        "fail_at",
        "move_on_after",
        "move_on_at",
        "raises",
        "suppress",
        "timeout",
        "timeout_at",
    }
)


@dataclass(slots=True, kw_only=True)
class Surroundings:
    """The lines of blocks in one function."""

    loops: list[_Lines] = field(default_factory=list)
    inner_functions: list[_Lines] = field(default_factory=list)
    expecting: list[_Lines] = field(default_factory=list)  # `with pytest.raises(...)`, or a limit of time
    last_check: int = 0  # line of the last assertion

    def is_in_loop(self, node: ast.AST) -> bool:
        """Whether a node may run several times."""
        return _is_within(node, self.loops)

    def is_in_inner_function(self, node: ast.AST) -> bool:
        """Whether a node is in a function or class that the function defines."""
        return _is_within(node, self.inner_functions)

    def is_expected_to_fail(self, node: ast.AST) -> bool:
        """Whether a block around a node expects an exception or stops it after a time."""
        return _is_within(node, self.expecting)

    def is_checked_later(self, node: ast.AST) -> bool:
        """Whether the function asserts something after a node."""
        return self.last_check >= getattr(node, "lineno", 0)


def surroundings_in(function: ReachedFunction) -> Surroundings:
    """The blocks of a function; computed once for all tests."""
    return function.compute_once(_read)


def _read(function: ReachedFunction) -> Surroundings:
    found = Surroundings()
    for node in nodes_of(function.node):
        if node is function.node:
            continue
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            found.loops.append(_lines(node))
        elif isinstance(node, FunctionNode | ast.Lambda | ast.ClassDef):
            found.inner_functions.append(_lines(node))
        elif isinstance(node, ast.With | ast.AsyncWith) and any(
            _expects(item.context_expr) for item in node.items
        ):
            found.expecting.append(_lines(node))
            found.last_check = max(found.last_check, node.lineno)
        elif isinstance(node, ast.Assert) or (isinstance(node, ast.Call) and _is_assertion(node)):
            found.last_check = max(found.last_check, node.lineno)
    return found


def _lines(node: ast.stmt | ast.expr) -> _Lines:
    return node.lineno, node.end_lineno or node.lineno


def _is_within(node: ast.AST, blocks: list[_Lines]) -> bool:
    line = getattr(node, "lineno", 0)
    return any(first <= line <= last for first, last in blocks)


def _expects(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _called_name(node) in _EXPECTING_FUNCTIONS


def _is_assertion(node: ast.Call) -> bool:
    return _called_name(node).lower().startswith(("assert", "verify", "expect", "check_", "eq_"))


def _called_name(node: ast.Call) -> str:
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def names_bound_to(function: ReachedFunction, node: ast.AST) -> Iterator[str]:
    """The local variables whose value contains a node."""
    for name, value in function.facts.bindings.items():
        if any(part is node for part in nodes_of(value)):
            yield name


def is_compared(function: ReachedFunction, node: ast.AST, *relations: str) -> bool:
    """Whether the function compares a value that contains a node, or a variable with it, in one of these ways."""
    names = set(names_bound_to(function, node))
    for comparison in function.facts.comparisons:
        if comparison.relation in relations and any(_contains(side, node, names) for side in comparison.sides):
            return True
    return False


def is_measured_twice(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether a value must be equal to another one that the code under test makes by itself.

    A variable that the test hands to the code under test is the same on both sides.
    """
    parts = {
        id(part): part
        for comparison in function.facts.comparisons
        if comparison.relation == "equal"
        for side in comparison.sides
        for part in _parts_of_value(side)
    }
    if id(node) in parts:
        return True
    names = {name for name, value in function.facts.bindings.items() if node in _parts_of_value(value)}
    compared = {part.id for part in parts.values() if isinstance(part, ast.Name)} & names
    return any(not _is_used_elsewhere(function, name, parts) for name in compared)


def _parts_of_value(value: ast.AST) -> list[ast.AST]:
    """The nodes that a value is computed from by rounding or moving, and not by other functions."""
    if isinstance(value, ast.BinOp):
        return [value, *_parts_of_value(value.left), *_parts_of_value(value.right)]
    if isinstance(value, ast.Attribute):
        return [value, *_parts_of_value(value.value)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute):
        return [value, *_parts_of_value(value.func.value)]
    if isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in _ROUNDING_FUNCTIONS:
        return [value, *(part for argument in value.args for part in _parts_of_value(argument))]
    return [value]


def _is_used_elsewhere(function: ReachedFunction, name: str, parts: Mapping[int, ast.AST]) -> bool:
    """Whether a variable is read in other places than these."""
    return any(
        isinstance(part, ast.Name) and part.id == name and isinstance(part.ctx, ast.Load) and id(part) not in parts
        for part in nodes_of(function.node)
    )


def is_returned(function: ReachedFunction, call: Call) -> bool:
    """Whether the function returns a call's result, or a variable with it."""
    if any(isinstance(parent, ast.Return | ast.Yield) for parent in call.parents):
        return True
    names = set(names_bound_to(function, call.node))
    returns = (node.value for node in nodes_of(function.node) if isinstance(node, ast.Return | ast.Yield))
    return any(value is not None and _mentions(value, names) for value in returns)


def is_handed_on(function: ReachedFunction, node: ast.AST) -> bool:
    """Whether the function passes a variable with a value to another function."""
    return any(_is_handed_on(function, name) for name in names_bound_to(function, node))


def _is_handed_on(function: ReachedFunction, name: str) -> bool:
    compared = {id(side) for comparison in function.facts.comparisons for side in comparison.sides}
    for call in function.facts.calls:
        arguments = [*call.node.args, *(keyword.value for keyword in call.node.keywords)]
        for argument in arguments:
            if id(argument) not in compared and _mentions(argument, {name}):
                return True
    return False


def _contains(side: ast.expr, node: ast.AST, names: set[str]) -> bool:
    return _mentions(side, names) or any(part is node for part in nodes_of(side))


def _mentions(value: ast.expr, names: set[str]) -> bool:
    return any(isinstance(part, ast.Name) and part.id in names for part in nodes_of(value))
