"""A module with the bodies of its functions cut out: what importing it executes, and what it defines."""

from __future__ import annotations

import ast
import copy
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

from flakehound.triage.syntax import (
    DefinitionNode,
    FunctionNode,
    docstring_of,
    makes_a_generator,
    uses_its_class,
)

Key = tuple[str, int]
Node = TypeVar("Node", bound=ast.AST)


@dataclass(frozen=True, slots=True, kw_only=True)
class Definition:
    """A function, a method or a class; never one inside a function, which belongs to the function."""

    key: Key  # qualified name, and which of the definitions of that name
    node: DefinitionNode
    owner: ast.Module | ast.ClassDef | None  # None: defined inside an `if`, a `try` or the like

    @property
    def name(self) -> str:
        """The qualified name."""
        return self.key[0]


class Outline:
    """One version of a module; `without` leaves definitions out as if they were not there."""

    def __init__(self, tree: ast.Module, without: Collection[DefinitionNode] = ()) -> None:
        self.tree = tree
        self._without = {id(node) for node in without}

    def leaving_out(self, nodes: Collection[DefinitionNode]) -> Outline:
        """The same module without some of its definitions."""
        return Outline(self.tree, nodes)

    @cached_property
    def skeleton(self) -> str:
        """Everything that importing executes, as text."""
        return ast.dump(self._masked(self.tree))

    @cached_property
    def definitions(self) -> Mapping[Key, Definition]:
        """What it defines, in the order of the source."""
        seen: Counter[str] = Counter()
        found: dict[Key, Definition] = {}
        for name, node, owner in self._defined_in(self.tree, "", self.tree):
            key = (name, seen[name])
            seen[name] += 1
            found[key] = Definition(key=key, node=node, owner=owner)
        return found

    @property
    def functions(self) -> list[Definition]:
        """The functions and methods among the definitions."""
        return [one for one in self.definitions.values() if isinstance(one.node, FunctionNode)]

    def header(self, definition: Definition) -> str:
        """What importing executes of one definition; of a class without what it defines in its turn."""
        return self._own_code(definition.node)

    @property
    def module_level(self) -> str:
        """What importing executes outside every definition."""
        return self._own_code(self.tree)

    def _own_code(self, node: DefinitionNode | ast.Module) -> str:
        masked = self._masked(node)
        if not isinstance(masked, FunctionNode):
            masked.body = [one for one in masked.body if not isinstance(one, DefinitionNode)]
        return ast.dump(masked)

    def _masked(self, node: Node) -> Node:
        masked = copy.copy(node)
        if isinstance(masked, FunctionNode):
            shape = f"{makes_a_generator(masked)} {uses_its_class(masked)}"
            masked.body = [*docstring_of(masked), ast.Expr(ast.Constant(shape))]
            return masked
        for field, value in ast.iter_fields(node):
            if isinstance(value, list) and field in _BLOCKS:
                setattr(masked, field, [self._masked(one) for one in value if id(one) not in self._without])
        return masked

    def _defined_in(
        self, node: ast.AST, prefix: str, owner: ast.Module | ast.ClassDef | None
    ) -> Iterator[tuple[str, DefinitionNode, ast.Module | ast.ClassDef | None]]:
        for block in _BLOCKS:
            for child in getattr(node, block, []):
                if id(child) in self._without:
                    continue
                if isinstance(child, DefinitionNode):
                    yield prefix + child.name, child, owner
                if isinstance(child, ast.ClassDef):
                    yield from self._defined_in(child, f"{prefix}{child.name}.", child)
                elif not isinstance(child, FunctionNode):
                    yield from self._defined_in(child, prefix, None)


_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


def body_of(function: FunctionNode) -> str:
    """What a call executes, as text."""
    statements = function.body[len(docstring_of(function)) :]
    return "\n".join(ast.dump(statement) for statement in statements)
