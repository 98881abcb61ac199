"""The syntax nodes of a piece of code, found in one walk and sorted by kind."""

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
    """Nodes of some statements; those inside functions belong to `inner`, one for each function.

    A function's decorators, defaults and annotations belong to neither: they are in `headers`.
    """

    context: str | None  # name of the function whose body it is; None for code outside functions
    by_kind: Mapping[type[ast.AST], list[ast.AST]]
    headers: Mapping[type[ast.AST], list[ast.AST]]
    inner: tuple[Code, ...]

    def own(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of one kind, outside inner functions; in no particular order."""
        return self.by_kind.get(kind, [])  # type: ignore[return-value]  # keyed by their own type

    def regions(self) -> Iterator[Code]:
        """This code, and that of each inner function."""
        yield self
        for one in self.inner:
            yield from one.regions()

    def all(self, kind: type[_Node]) -> list[_Node]:
        """The nodes of one kind, those of inner functions too."""
        if not self.inner:
            return self.own(kind)
        return [node for region in self.regions() for node in region.own(kind)]

    def everywhere(self, kind: type[_Node]) -> list[_Node]:
        """Like `all`, and those in the headers of inner functions."""
        headers = (node for region in self.regions() for node in region.headers.get(kind, ()))
        return [*self.all(kind), *headers]  # type: ignore[list-item]  # keyed by their own type


def code_of(roots: Iterable[ast.AST], context: str | None = None) -> Code:
    """Everything below some nodes."""
    nodes = _below(roots)
    functions = [*nodes.get(ast.FunctionDef, ()), *nodes.get(ast.AsyncFunctionDef, ())]
    return Code(
        context=context,
        by_kind=nodes,
        headers=_below(part for function in functions for part in _header(function)),
        inner=tuple(
            code_of(function.body, function.name) for function in functions if isinstance(function, _FUNCTIONS)
        ),
    )


def _below(roots: Iterable[ast.AST]) -> dict[type[ast.AST], list[ast.AST]]:
    found: dict[type[ast.AST], list[ast.AST]] = {}
    pending: list[ast.AST | None] = list(roots)
    while pending:
        node = pending.pop()
        if node is None:  # `**rest` in a dict display has no key
            continue
        kind = node.__class__
        if kind in found:
            found[kind].append(node)
        else:
            found[kind] = [node]
        if kind in _FUNCTIONS:
            continue
        for name in CHILD_FIELDS[kind]:
            child = getattr(node, name)
            if child.__class__ is list:
                pending += child
            else:
                pending.append(child)
    return found


def _header(function: ast.AST) -> Iterator[ast.AST]:
    assert isinstance(function, _FUNCTIONS)
    yield from function.decorator_list
    yield function.args
    if function.returns is not None:
        yield function.returns
    yield from getattr(function, "type_params", ())


def called_name(call: ast.Call) -> str:
    """The last part of what is called: `total` in `cart.total()`; empty for a call of a call."""
    target = call.func
    if isinstance(target, ast.Attribute):
        return target.attr
    return target.id if isinstance(target, ast.Name) else ""


def first_line(node: ast.ClassDef | FunctionNode) -> int:
    """The line of the first decorator, or of the definition where it has none."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
