"""Which classes and functions of the project a function's names stand for, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import Instance, Known, Names, names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode


@dataclass(slots=True, kw_only=True, eq=False)
class Use:
    """A class or function outside every class, and the times that a function names it or something of it."""

    of: Definition
    times: int = 0


def uses(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None = None
) -> Mapping[ast.AST, Use]:
    """The project's things that a function names, by their nodes; a method counts for its class."""
    key = ("uses", function, owner.node if owner else None)
    return project.kept(key, lambda: _counted(names_of(function, module, project, owner)))


def _counted(names: Names) -> dict[ast.AST, Use]:
    found: dict[ast.AST, Use] = {}
    for node in _named(names.nodes):
        subject = _subject(names.known(node))
        if subject is not None:
            found.setdefault(subject.node, Use(of=subject)).times += 1
    return found


def _named(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The longest chains: of `cart.items.add` not also `cart.items` and `cart`."""
    inner: set[ast.expr] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if isinstance(node, ast.Name | ast.Attribute) and node not in inner and isinstance(node.ctx, ast.Load):
            yield node


def _subject(known: Known | None) -> Definition | None:
    if isinstance(known, Instance):
        return known.of
    if not isinstance(known, Definition):
        return None
    if known.owner is not None:
        return known.owner
    return known if known.class_ is not None or known.function is not None else None
