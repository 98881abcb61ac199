"""The syntax nodes of a piece of code, grouped by kind in one walk."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import CHILD_FIELDS

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_Node = TypeVar("_Node", bound=ast.AST)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Code:
    """The nodes of some statements; those inside functions are in `inner`, one `Code` for each function.

    The decorators, defaults and annotations of the functions are in `headers` only.
    """

    context: str | None  # name of the function whose body it is; None outside of functions
    by_kind: Mapping[type[ast.AST], list[ast.AST]]
    headers: Mapping[type[ast.AST], list[ast.AST]]
    inner: tuple[Code, ...]

    def own_nodes(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of one kind outside of inner functions, in no particular order."""
        return self.by_kind.get(kind, [])  # type: ignore[return-value]  # keyed by their own type

    def regions(self) -> Iterator[Code]:
        """This code, and the code of each inner function."""
        yield self
        for code in self.inner:
            yield from code.regions()

    def all_nodes(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of one kind, also those in inner functions."""
        if not self.inner:
            return self.own_nodes(kind)
        return [node for region in self.regions() for node in region.own_nodes(kind)]

    def all_nodes_with_headers(self, kind: type[_Node]) -> list[_Node]:
        """Like `all_nodes`, and also those in the headers of inner functions."""
        headers = (node for region in self.regions() for node in region.headers.get(kind, ()))
        return [*self.all_nodes(kind), *headers]  # type: ignore[list-item]  # keyed by their own type


def code_of(roots: Iterable[ast.AST], context: str | None = None) -> Code:
    """The nodes below some nodes, grouped by kind."""
    nodes = _nodes_by_kind(roots)
    functions = [*nodes.get(ast.FunctionDef, ()), *nodes.get(ast.AsyncFunctionDef, ())]
    return Code(
        context=context,
        by_kind=nodes,
        headers=_nodes_by_kind(node for function in functions for node in _header_nodes(function)),
        inner=tuple(
            code_of(function.body, function.name) for function in functions if isinstance(function, _FUNCTIONS)
        ),
    )


def _nodes_by_kind(roots: Iterable[ast.AST]) -> dict[type[ast.AST], list[ast.AST]]:
    nodes: dict[type[ast.AST], list[ast.AST]] = {}
    pending: list[ast.AST | None] = list(roots)
    while pending:
        node = pending.pop()
        if node is None:  # `**rest` in a dict display has no key
            continue
        kind = node.__class__
        if kind in nodes:
            nodes[kind].append(node)
        else:
            nodes[kind] = [node]
        if kind in _FUNCTIONS:
            continue
        for name in CHILD_FIELDS[kind]:
            child = getattr(node, name)
            if child.__class__ is list:
                pending += child
            else:
                pending.append(child)
    return nodes


def _header_nodes(function: ast.AST) -> Iterator[ast.AST]:
    assert isinstance(function, _FUNCTIONS)
    yield from function.decorator_list
    yield function.args
    if function.returns is not None:
        yield function.returns
    yield from getattr(function, "type_params", ())


def called_name(call: ast.Call) -> str:
    """The last part of the callee: `total` in `cart.total()`; empty for a call of a call."""
    target = call.func
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def first_line(node: ast.ClassDef | FunctionNode) -> int:
    """The line of the first decorator, or of the definition if it has none."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
