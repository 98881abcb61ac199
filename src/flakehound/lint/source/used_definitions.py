"""Which classes and functions of the project a function uses, and how often."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.names import ExpressionMeaning, FunctionNames, Instance, names_of
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode


@dataclass(slots=True, kw_only=True, eq=False)
class DefinitionUse:
    """A class or a function outside of classes, and how often a function uses it or its members."""

    definition: Definition
    count: int = 0


def definition_uses(
    function: FunctionNode, module: Module, project: Project, owner: Definition | None = None
) -> Mapping[ast.AST, DefinitionUse]:
    """The definitions of the project that a function uses, by their nodes; a method counts as its class."""
    key = ("uses", function, owner.node if owner else None)
    return project.compute_once(key, lambda: _count_uses(names_of(function, module, project, owner)))


def _count_uses(names: FunctionNames) -> dict[ast.AST, DefinitionUse]:
    uses: dict[ast.AST, DefinitionUse] = {}
    for node in _longest_chains(names.nodes):
        definition = _used_definition(names.meaning_of(node))
        if definition is not None:
            uses.setdefault(definition.node, DefinitionUse(definition=definition)).count += 1
    return uses


def _longest_chains(nodes: Sequence[ast.AST]) -> Iterator[ast.expr]:
    """The longest chains of attributes: `cart.items.add` without its parts `cart.items` and `cart`."""
    inner: set[ast.expr] = set()
    for node in nodes:
        if isinstance(node, ast.Attribute):
            inner.add(node.value)
        if isinstance(node, ast.Name | ast.Attribute) and node not in inner and isinstance(node.ctx, ast.Load):
            yield node


def _used_definition(meaning: ExpressionMeaning | None) -> Definition | None:
    if isinstance(meaning, Instance):
        return meaning.definition
    if not isinstance(meaning, Definition):
        return None
    if meaning.owner is not None:
        return meaning.owner
    return meaning if meaning.class_ is not None or meaning.function is not None else None
