"""Whether two syntax trees are the same but for comments and layout, as a whole or in what importing executes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection
from typing import Any

from flakehound.triage.python_source import DefinitionNode, FunctionNode, docstring_of

Children = Callable[[ast.AST], list[Any]]


def all_fields(node: ast.AST) -> list[Any]:
    """All fields of a node; `u""` is `""`."""
    return [node.value] if isinstance(node, ast.Constant) else [getattr(node, name, None) for name in node._fields]


def executed_by_import(left_out: Collection[ast.AST] = ()) -> Children:
    """What importing executes of a node: of a function its definition, of a block all but some definitions."""
    hidden = {id(node) for node in left_out}

    def executed(node: ast.AST) -> list[Any]:
        if isinstance(node, FunctionNode):
            return [*_all_but_body(node), docstring_of(node)]
        children = all_fields(node)
        if not hidden:
            return children
        return [[x for x in one if id(x) not in hidden] if isinstance(one, list) else one for one in children]

    return executed


def without_definitions(node: ast.Module | ast.ClassDef) -> list[Any]:
    """What a module or a class consists of beside the functions and classes it defines."""
    return [*_all_but_body(node), [one for one in node.body if not isinstance(one, DefinitionNode)]]


def is_same_syntax(one: object, two: object, children: Children = all_fields) -> bool:
    """Whether two nodes, or lists of nodes, are equal in the `children` looked at."""
    # A list of pairs and no recursion: a sum of a thousand terms is a tree a thousand nodes deep.
    pairs = [(one, two)]
    while pairs:
        left, right = pairs.pop()
        if type(left) is not type(right):
            return False  # 1 is not True here
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
