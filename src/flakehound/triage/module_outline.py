"""What a module defines, and whether importing two versions of it executes the same code."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from flakehound.triage.python_source import DefinitionNode, FunctionNode
from flakehound.triage.syntax_equality import executed_by_import, is_same_syntax, without_definitions

DefinitionKey = tuple[str, int]
Owner = ast.Module | ast.ClassDef
_BLOCKS = ("body", "handlers", "cases", "orelse", "finalbody")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModuleDefinition:
    """A function, a method or a class. Definitions inside a function belong to that function."""

    key: DefinitionKey  # qualified name, and which of the definitions of that name
    node: DefinitionNode
    owner: Owner | None  # None: defined inside an `if`, a `try` or the like

    @property
    def name(self) -> str:
        """The qualified name."""
        return self.key[0]


class ModuleOutline:
    """One version of a module; `left_out` are definitions, of any version, to ignore."""

    def __init__(self, tree: ast.Module, left_out: Collection[DefinitionNode] = ()) -> None:
        self.tree = tree
        self._left_out = left_out
        self._executed = executed_by_import(left_out)

    def without(self, nodes: Collection[DefinitionNode]) -> ModuleOutline:
        """The same module without some definitions."""
        return ModuleOutline(self.tree, nodes)

    @cached_property
    def definitions(self) -> Mapping[DefinitionKey, ModuleDefinition]:
        """Its definitions, in the order of the source."""
        count_by_name: Counter[str] = Counter()
        found: dict[DefinitionKey, ModuleDefinition] = {}
        for name, node, owner in self._defined_in(self.tree, "", self.tree):
            key = (name, count_by_name[name])
            count_by_name[name] += 1
            found[key] = ModuleDefinition(key=key, node=node, owner=owner)
        return found

    @cached_property
    def functions(self) -> Mapping[DefinitionKey, FunctionNode]:
        """The functions and methods among the definitions."""
        return {
            key: node
            for key, definition in self.definitions.items()
            if isinstance(node := definition.node, FunctionNode)
        }

    def imports_like(self, other: ModuleOutline) -> bool:
        """Whether importing either version executes the same code."""
        return is_same_syntax(self.tree, other.tree, self._executed)

    def has_same_module_level(self, other: ModuleOutline) -> bool:
        """Whether importing either version executes the same code outside of definitions."""
        return is_same_syntax(without_definitions(self.tree), without_definitions(other.tree), self._executed)

    def defines_like(self, left: DefinitionNode, right: DefinitionNode) -> bool:
        """Whether importing executes the same code of two definitions; definitions inside a class are ignored."""
        if isinstance(left, ast.ClassDef) and isinstance(right, ast.ClassDef):
            return is_same_syntax(without_definitions(left), without_definitions(right), self._executed)
        return is_same_syntax(left, right, self._executed)

    def _defined_in(
        self, node: ast.AST, prefix: str, owner: Owner | None
    ) -> Iterator[tuple[str, DefinitionNode, Owner | None]]:
        children = (child for block in _BLOCKS for child in getattr(node, block, []))
        for child in children:
            if child in self._left_out:
                continue
            if isinstance(child, DefinitionNode):
                yield prefix + child.name, child, owner
            if isinstance(child, ast.ClassDef):
                yield from self._defined_in(child, f"{prefix}{child.name}.", child)
            elif not isinstance(child, FunctionNode):
                yield from self._defined_in(child, prefix, None)
