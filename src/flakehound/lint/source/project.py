"""All source files of a project, and what a name in one of them refers to."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Hashable, Iterator, Mapping, Sequence

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.source.base_classes import base_expressions, method_resolution_order
from flakehound.lint.source.definitions import Definition, External, Meaning, dotted_name
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project_files import ProjectFiles
from flakehound.lint.source.scopes import AssignedName, Binding, ImportedName, Scope
from flakehound.lint.source.star_imports import exported_names, names_in_dict, star_imported_modules

_MAX_ALIASES = 20  # how many aliases of aliases are followed; also ends a cycle of imports
_BUILTINS = frozenset(dir(builtins))


class Project(ProjectFiles):
    """The files of a project; finds the definitions that names in them refer to."""

    def __init__(
        self,
        sources: Mapping[str, bytes | Module],
        *,
        patterns: CollectionPatterns | None = None,
        import_roots: Sequence[str] = (),
    ) -> None:
        super().__init__(sources, patterns=patterns, import_roots=import_roots)
        self._in_progress: set[Hashable] = set()  # names that are being resolved

    def resolve(self, module: Module, name: str) -> Meaning:
        """What a dotted name at the module's top level refers to; follows imports, re-exports and aliases.

        A name that is bound nowhere, such as a builtin or a misspelt name, is an External of that name.
        """
        return self._meaning(module, name) or External(name=name)

    def resolve_if_bound(self, module: Module, name: str) -> Meaning | None:
        """Like `resolve`, but None if the first part is neither bound in the module nor a builtin."""
        head = name.partition(".")[0]
        meaning = self._meaning(module, name)
        return External(name=name) if meaning is None and head in _BUILTINS else meaning

    def resolve_attribute(self, owner: Definition, name: str) -> Meaning | None:
        """What a dotted attribute of a class or module refers to, such as `total` of `Cart`."""
        return self._follow_attributes(owner, name, 0)

    def module_names(self, module: Module) -> Iterator[str]:
        """Every name of the module's `__dict__`, in its order, with names from star imports within the project."""
        yield from dict.fromkeys(names_in_dict(module, self))

    def mro(self, owner: Definition) -> tuple[Meaning, ...]:
        """The class and its bases, in the order in which Python looks up attributes."""
        return self.compute_once(("mro", owner.node), lambda: method_resolution_order(owner, self._bases))

    def member(self, owner: Definition, name: str) -> Definition | None:
        """The class attribute of that name, own or inherited; None if it is not defined in the project."""
        meaning = self._follow_attributes(owner, name, 0)
        return meaning if isinstance(meaning, Definition) else None

    def _bases(self, owner: Definition) -> list[Meaning]:
        assert isinstance(owner.node, ast.ClassDef)
        bases = []
        for base in base_expressions(owner.node):
            name = dotted_name(base.func if isinstance(base, ast.Call) else base)
            if name is not None:
                bases.append(self._resolve_base(owner, name))
        return bases

    def _resolve_base(self, owner: Definition, name: str) -> Meaning:
        """Resolve the name of a base; that of a nested class can be a class beside it."""
        outer = owner.owner
        if outer is not None and name.partition(".")[0] in self._class_scope(outer).names:
            return self._follow_attributes(outer, name, 1) or External(name=name)
        return self.resolve(owner.module, name)

    def _class_scope(self, owner: Definition) -> Scope:
        assert isinstance(owner.node, ast.ClassDef)
        return self.scope(owner.node)

    def _meaning(self, module: Module, name: str, depth: int = 0) -> Meaning | None:
        key = ("meaning", module.path, name)
        if key in self._in_progress:
            return None  # a cycle
        self._in_progress.add(key)
        try:
            return self.compute_once(key, lambda: self._look_up(module, name, depth))
        finally:
            self._in_progress.discard(key)

    def _look_up(self, module: Module, name: str, depth: int) -> Meaning | None:
        if depth > _MAX_ALIASES:
            return None
        head, _, attributes = name.partition(".")
        binding = self.scope(module.tree).names.get(head)
        if binding is None:
            meaning = self._from_star_imports(module, head, depth)
        else:
            meaning = self._meaning_of_binding(module, head, binding, depth)
        return (
            self._follow_attributes(meaning, attributes, depth) if meaning is not None and attributes else meaning
        )

    def _meaning_of_binding(
        self, module: Module, name: str, binding: Binding, depth: int, owner: Definition | None = None
    ) -> Meaning | None:
        if isinstance(binding, ImportedName):
            return self.resolve_import(module, binding, depth)
        qualified = f"{owner.name}.{name}" if owner and owner.name else name
        if not isinstance(binding, AssignedName):
            return Definition(name=qualified, module=module, node=binding, owner=owner)
        if binding.value is None:
            return Definition(name=qualified, module=module, node=ast.Name(id=name), owner=owner)
        alias = dotted_name(binding.value)
        if alias is None:
            return Definition(name=qualified, module=module, node=binding.value, owner=owner)
        return self._meaning_of_alias(module, alias, name, depth, owner)

    def _meaning_of_alias(
        self, module: Module, alias: str, name: str, depth: int, owner: Definition | None
    ) -> Meaning | None:
        head = alias.partition(".")[0]
        if owner is not None and head != name and head in self._class_scope(owner).names:
            return self._follow_attributes(owner, alias, depth + 1)
        meaning = None if owner is None and head == name else self._meaning(module, alias, depth + 1)
        return meaning or External(name=alias)

    def resolve_import(self, module: Module, binding: ImportedName, depth: int = 0) -> Meaning | None:
        """What a name refers to that an import statement in the module binds."""
        source = self.imported_module(binding.module, binding.level, module)
        if binding.name is None:
            return _module_definition(source) if source else External(name=binding.module)
        if source is not None:
            meaning = self._meaning(source, binding.name, depth + 1)
            if meaning is not None:
                return meaning
        dotted = f"{binding.module}.{binding.name}" if binding.module else binding.name
        path = self.paths.path_of_import(dotted, binding.level, module.path)
        submodule = self.module(path) if path and path != module.path else None
        return _module_definition(submodule) if submodule else External(name=dotted)

    def _follow_attributes(self, meaning: Meaning | None, attributes: str, depth: int) -> Meaning | None:
        while attributes and isinstance(meaning, Definition):
            head, _, attributes = attributes.partition(".")
            meaning = self._direct_attribute(meaning, head, depth + 1)
        if attributes and isinstance(meaning, External):
            return External(name=f"{meaning.name}.{attributes}")
        return meaning

    def _direct_attribute(self, owner: Definition, name: str, depth: int) -> Meaning | None:
        if depth > _MAX_ALIASES:
            return None
        if owner.is_module:
            meaning = self._meaning(owner.module, name, depth)
            return meaning or self._submodule(owner.module, name)
        if owner.class_ is not None:
            return self._inherited_attribute(owner, name, depth)
        return None

    def _submodule(self, package: Module, name: str) -> Meaning | None:
        path = self.paths.path_of_submodule(package.path, name)
        module = self.module(path) if path else None
        return _module_definition(module) if module else None

    def _inherited_attribute(self, owner: Definition, name: str, depth: int) -> Meaning | None:
        for base in self.mro(owner):
            if isinstance(base, Definition) and base.class_ is not None:
                binding = self.scope(base.class_).names.get(name)
                if binding is not None:
                    return self._meaning_of_binding(base.module, name, binding, depth, base)
        return None

    def _from_star_imports(self, module: Module, name: str, depth: int) -> Meaning | None:
        for source in star_imported_modules(module, self):
            if name in exported_names(source, self) and (meaning := self._meaning(source, name, depth + 1)):
                return meaning
        return None


def _module_definition(module: Module) -> Definition:
    return Definition(name="", module=module, node=module.tree)
