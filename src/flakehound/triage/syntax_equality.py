"""Compare syntax trees without comments and layout, as a whole or only the code that importing executes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from flakehound.triage.python_source import DefinitionNode, FunctionNode, docstring_of

Children = Callable[[ast.AST], list[Any]]


def all_fields(node: ast.AST) -> list[Any]:
    """All fields of a node; `u""` counts as `""`."""
    return [node.value] if isinstance(node, ast.Constant) else [getattr(node, name, None) for name in node._fields]


def executed_by_import(left_out: Collection[ast.AST] = ()) -> Children:
    """Which children of a node importing executes: of a function its definition, of a block all but `left_out`."""
    hidden = {id(node) for node in left_out}

    def executed(node: ast.AST) -> list[Any]:
        if isinstance(node, FunctionNode):
            return [*_all_but_body(node), docstring_of(node)]
        children = all_fields(node)
        if not hidden:
            return children
        return [
            [item for item in child if id(item) not in hidden] if isinstance(child, list) else child
            for child in children
        ]

    return executed


def without_definitions(node: ast.Module | ast.ClassDef) -> list[Any]:
    """The parts of a module or a class without the functions and classes that it defines."""
    return [*_all_but_body(node), [part for part in node.body if not isinstance(part, DefinitionNode)]]


def is_same_syntax(first: object, second: object, children: Children = all_fields) -> bool:
    """Whether two nodes, or lists of nodes, have equal `children` at every level."""
    # Not recursive: a sum of a thousand terms is a tree a thousand nodes deep.
    pairs = [(first, second)]
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False  # 1 == True, but they are different syntax
        if isinstance(left, ast.AST) and isinstance(right, ast.AST):
            left, right = children(left), children(right)
        if isinstance(left, list) and isinstance(right, list):
            if len(left) != len(right):
                return False
            pairs.extend(zip(left, right, strict=True))
        elif left != right:
            return False
    return True


def _all_but_body(node: ast.AST) -> list[Any]:
    return [getattr(node, name, None) for name in node._fields if name != "body"]
