"""What a module defines, and whether importing two versions of it executes the same."""

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
    """A function, a method or a class; never one inside a function, which belongs to the function."""

    key: DefinitionKey  # qualified name, and which of the definitions of that name
    node: DefinitionNode
    owner: Owner | None  # None: defined inside an `if`, a `try` or the like

    @property
    def name(self) -> str:
        """The qualified name."""
        return self.key[0]


class ModuleOutline:
    """One version of a module; `left_out` are definitions of any version that do not count."""

    def __init__(self, tree: ast.Module, left_out: Collection[DefinitionNode] = ()) -> None:
        self.tree = tree
        self._left_out = left_out
        self._executed = executed_by_import(left_out)

    def without(self, nodes: Collection[DefinitionNode]) -> ModuleOutline:
        """The same module without some definitions."""
        return ModuleOutline(self.tree, nodes)

    @cached_property
    def definitions(self) -> Mapping[DefinitionKey, ModuleDefinition]:
        """What it defines, in the order of the source."""
        seen: Counter[str] = Counter()
        found: dict[DefinitionKey, ModuleDefinition] = {}
        for name, node, owner in self._defined_in(self.tree, "", self.tree):
            key = (name, seen[name])
            seen[name] += 1
            found[key] = ModuleDefinition(key=key, node=node, owner=owner)
        return found

    @cached_property
    def functions(self) -> Mapping[DefinitionKey, FunctionNode]:
        """The functions and methods among the definitions."""
        found = self.definitions.items()
        return {key: node for key, one in found if isinstance(node := one.node, FunctionNode)}

    def imports_like(self, other: ModuleOutline) -> bool:
        """Whether importing either executes the same."""
        return is_same_syntax(self.tree, other.tree, self._executed)

    def has_same_module_level(self, other: ModuleOutline) -> bool:
        """Whether importing either executes the same outside every definition."""
        return is_same_syntax(without_definitions(self.tree), without_definitions(other.tree), self._executed)

    def defines_like(self, one: DefinitionNode, two: DefinitionNode) -> bool:
        """Whether importing executes the same of two definitions; of a class without what it defines in turn."""
        if isinstance(one, ast.ClassDef) and isinstance(two, ast.ClassDef):
            return is_same_syntax(without_definitions(one), without_definitions(two), self._executed)
        return is_same_syntax(one, two, self._executed)

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
