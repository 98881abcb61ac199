"""Which classes and functions of the project a function's names stand for, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import ExpressionMeaning, Instance, Names, names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode


@dataclass(slots=True, kw_only=True, eq=False)
class DefinitionUse:
    """A class or function outside every class, and the times that a function names it or something of it."""

    definition: Definition
    times: int = 0


def definition_uses(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None = None
) -> Mapping[ast.AST, DefinitionUse]:
    """The project's things that a function names, by their nodes; a method counts for its class."""
    key = ("uses", function, owner.node if owner else None)
    return project.cached(key, lambda: _count_uses(names_of(function, module, project, owner)))


def _count_uses(names: Names) -> dict[ast.AST, DefinitionUse]:
    found: dict[ast.AST, DefinitionUse] = {}
    for node in _longest_chains(names.nodes):
        subject = _subject(names.meaning_of(node))
        if subject is not None:
            found.setdefault(subject.node, DefinitionUse(definition=subject)).times += 1
    return found


def _longest_chains(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The longest chains: of `cart.items.add` not also `cart.items` and `cart`."""
    inner: set[ast.expr] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if isinstance(node, ast.Name | ast.Attribute) and node not in inner and isinstance(node.ctx, ast.Load):
            yield node


def _subject(meaning: ExpressionMeaning | None) -> Definition | None:
    if isinstance(meaning, Instance):
        return meaning.definition
    if not isinstance(meaning, Definition):
        return None
    if meaning.owner is not None:
        return meaning.owner
    return meaning if meaning.class_ is not None or meaning.function is not None else None
