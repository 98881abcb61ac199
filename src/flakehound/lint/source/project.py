"""All the source files of a project, and what a name in one of them stands for."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar, cast

from flakehound.core.collection_patterns import Patterns
from flakehound.lint.source.base_classes import base_expressions, linearised
from flakehound.lint.source.definitions import Definition, External, Meaning, dotted
from flakehound.lint.source.imports import Paths
from flakehound.lint.source.modules import Module, Unparsable, parsed
from flakehound.lint.source.scopes import Assigned, Binding, Imported, Scope, scope_of

_LONGEST_CHASE = 20  # aliases of aliases; also what ends a circle of imports
_Made = TypeVar("_Made")
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Kept:
    made: object
    consulted: set[str]  # paths of the files it was made from


class Project:
    """The files by path relative to pytest's rootdir; each is parsed once, when first asked for.

    `import_roots` are the folders that imports start from besides those pytest finds itself.
    """

    def __init__(
        self,
        sources: Mapping[str, bytes | Module],
        *,
        patterns: Patterns | None = None,
        import_roots: Sequence[str] = (),
    ) -> None:
        self.patterns = patterns or Patterns()
        self.paths = Paths(sources, import_roots)
        self._sources = sources
        self._parsed: dict[str, Module | Unparsable] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._kept: dict[Hashable, _Kept] = {}
        self._consulted: set[str] = set()
        self._asked: set[Hashable] = set()

    @contextmanager
    def consulting(self) -> Iterator[set[str]]:
        """Fills a set with the paths of all files that are asked for meanwhile: what an answer depends on.

        What was worked out for an earlier question brings the files that one depended on with it.
        """
        outer, inner = self._consulted, set[str]()
        self._consulted = inner
        try:
            yield inner
        finally:
            outer |= inner
            self._consulted = outer

    def unparsable_in(self, paths: Collection[str]) -> tuple[Unparsable, ...]:
        """Those of the files that do not parse."""
        found = (self._parsed.get(path) for path in sorted(paths))
        return tuple(one for one in found if isinstance(one, Unparsable))

    def module(self, path: str) -> Module | None:
        """The file at a path; None where there is none or it does not parse."""
        if path not in self._sources:
            return None
        self._consulted.add(path)
        if path not in self._parsed:
            source = self._sources[path]
            self._parsed[path] = source if isinstance(source, Module) else parsed(path, source)
        found = self._parsed[path]
        return found if isinstance(found, Module) else None

    @property
    def source_paths(self) -> tuple[str, ...]:
        """Every file's path, sorted."""
        return tuple(sorted(self._sources))

    def kept(self, key: Hashable, make: Callable[[], _Made]) -> _Made:
        """What `make` gave when it was first asked for under the key; syntax nodes are good keys."""
        found = self._kept.get(key)
        if found is None:
            outer, self._consulted = self._consulted, set()
            try:
                found = self._kept[key] = _Kept(made=make(), consulted=self._consulted)
            finally:
                self._consulted = outer
        self._consulted |= found.consulted
        return cast("_Made", found.made)

    def test_modules(self) -> Iterator[Module]:
        """The files that the patterns make test files, in the order of their paths."""
        for path in sorted(self._sources):
            if self.patterns.is_test_file(path) and (module := self.module(path)):
                yield module

    def module_named(self, name: str, near: Module | None = None) -> Module | None:
        """The file that `import name` means; of several the one nearest to the importing file."""
        path = self.paths.of_module(name, near.path if near else "")
        return self.module(path) if path else None

    def conftests(self, module: Module) -> tuple[Module, ...]:
        """The `conftest.py` files in force for a file, the nearest first."""
        return self.kept(("conftests", module.tree), lambda: tuple(self._conftests(module)))

    def _conftests(self, module: Module) -> Iterator[Module]:
        for folder in PurePosixPath(module.path).parents:
            found = self.module(str(folder / "conftest.py"))
            if found and found is not module:
                yield found

    def scope(self, node: ast.Module | ast.ClassDef) -> Scope:
        """The names that a module's or a class's body binds."""
        if node not in self._scopes:
            self._scopes[node] = scope_of(node.body)
        return self._scopes[node]

    def resolve(self, module: Module, name: str) -> Meaning:
        """What a dotted name at the module's top level stands for; follows imports, re-exports and aliases.

        A name nobody binds is External under that very name, be it a builtin or a mistake.
        """
        return self._meaning(module, name) or External(name=name)

    def bound(self, module: Module, name: str) -> Meaning | None:
        """Like `resolve`, but None where the first part is neither bound in the module nor a builtin."""
        head = name.partition(".")[0]
        found = self._meaning(module, name)
        return External(name=name) if found is None and head in _BUILTINS else found

    def resolve_in(self, owner: Definition, name: str) -> Meaning | None:
        """What an attribute path of a class or a module stands for: `Cart.total` is `total` in `Cart`."""
        return self._attribute(owner, name, 0)

    def imported(self, module: Module, binding: Imported) -> Meaning | None:
        """What an import statement anywhere in the module binds a name to."""
        return self._imported(module, binding, 0)

    def names_of(self, module: Module) -> Iterator[str]:
        """Every name of the module's `__dict__`, star imports within the project spread out, in its order."""
        seen: set[str] = set()
        for name in self._names(module, 0):
            if name not in seen:
                seen.add(name)
                yield name

    def lineage(self, owner: Definition) -> tuple[Meaning, ...]:
        """The class and its bases in the order that attributes are looked up."""
        return self.kept(("lineage", owner.node), lambda: linearised(owner, self._bases))

    def member(self, owner: Definition, name: str) -> Definition | None:
        """The class attribute of that name, inherited ones too; None where the project does not show it."""
        found = self._attribute(owner, name, 0)
        return found if isinstance(found, Definition) else None

    def _bases(self, owner: Definition) -> list[Meaning]:
        assert isinstance(owner.node, ast.ClassDef)
        found = []
        for base in base_expressions(owner.node):
            written = dotted(base.func if isinstance(base, ast.Call) else base)
            if written is not None:
                found.append(self._from_body(owner, written))
        return found

    def _from_body(self, owner: Definition, name: str) -> Meaning:
        """A name as the class statement sees it: a nested class's base can be its neighbour."""
        outer = owner.owner
        if outer is not None and name.partition(".")[0] in self.scope_of_class(outer).names:
            return self._attribute(outer, name, 1) or External(name=name)
        return self.resolve(owner.module, name)

    def scope_of_class(self, owner: Definition) -> Scope:
        """The names that a class's own body binds."""
        assert isinstance(owner.node, ast.ClassDef)
        return self.scope(owner.node)

    def _meaning(self, module: Module, name: str, chase: int = 0) -> Meaning | None:
        key = ("meaning", module.path, name)
        if key in self._asked:
            return None  # a circle ends here
        self._asked.add(key)
        try:
            return self.kept(key, lambda: self._looked_up(module, name, chase))
        finally:
            self._asked.discard(key)

    def _looked_up(self, module: Module, name: str, chase: int) -> Meaning | None:
        if chase > _LONGEST_CHASE:
            return None
        head, _, rest = name.partition(".")
        binding = self.scope(module.tree).names.get(head)
        if binding is None:
            found = self._from_stars(module, head, chase)
        else:
            found = self._of_binding(module, head, binding, chase)
        return self._attribute(found, rest, chase) if found is not None and rest else found

    def _of_binding(
        self, module: Module, name: str, binding: Binding, chase: int, owner: Definition | None = None
    ) -> Meaning | None:
        if isinstance(binding, Imported):
            return self._imported(module, binding, chase)
        qualified = f"{owner.name}.{name}" if owner and owner.name else name
        if not isinstance(binding, Assigned):
            return Definition(name=qualified, module=module, node=binding, owner=owner)
        if binding.value is None:
            return Definition(name=qualified, module=module, node=ast.Name(id=name), owner=owner)
        alias = dotted(binding.value)
        if alias is None:
            return Definition(name=qualified, module=module, node=binding.value, owner=owner)
        return self._alias(module, alias, name, chase, owner)

    def _alias(
        self, module: Module, alias: str, name: str, chase: int, owner: Definition | None
    ) -> Meaning | None:
        head = alias.partition(".")[0]
        if owner is not None and head != name and head in self.scope_of_class(owner).names:
            return self._attribute(owner, alias, chase + 1)
        found = None if owner is None and head == name else self._meaning(module, alias, chase + 1)
        return found or External(name=alias)

    def _imported(self, module: Module, binding: Imported, chase: int) -> Meaning | None:
        path = self.paths.of_import(binding.module, binding.level, module.path)
        source = self.module(path) if path else None
        if binding.name is None:
            return self._whole(source) if source else External(name=binding.module)
        if source is not None:
            found = self._meaning(source, binding.name, chase + 1)
            if found is not None:
                return found
        inner = f"{binding.module}.{binding.name}" if binding.module else binding.name
        submodule = self.paths.of_import(inner, binding.level, module.path)
        below = self.module(submodule) if submodule and submodule != module.path else None
        return self._whole(below) if below else External(name=inner)

    def _whole(self, module: Module) -> Definition:
        return Definition(name="", module=module, node=module.tree)

    def _attribute(self, found: Meaning | None, rest: str, chase: int) -> Meaning | None:
        while rest and isinstance(found, Definition):
            head, _, rest = rest.partition(".")
            found = self._one_attribute(found, head, chase + 1)
        if rest and isinstance(found, External):
            return External(name=f"{found.name}.{rest}")
        return found

    def _one_attribute(self, owner: Definition, name: str, chase: int) -> Meaning | None:
        if chase > _LONGEST_CHASE:
            return None
        if owner.is_module:
            found = self._meaning(owner.module, name, chase)
            return found or self._submodule(owner.module, name)
        if owner.class_ is not None:
            return self._inherited(owner, name, chase)
        return None

    def _submodule(self, package: Module, name: str) -> Meaning | None:
        path = self.paths.below(package.path, name)
        module = self.module(path) if path else None
        return self._whole(module) if module else None

    def _inherited(self, owner: Definition, name: str, chase: int) -> Meaning | None:
        for one in self.lineage(owner):
            if isinstance(one, Definition) and one.class_ is not None:
                binding = self.scope(one.class_).names.get(name)
                if binding is not None:
                    return self._of_binding(one.module, name, binding, chase, one)
        return None

    def _from_stars(self, module: Module, name: str, chase: int) -> Meaning | None:
        for source in self._star_sources(module):
            if name in self._exported(source) and (found := self._meaning(source, name, chase + 1)):
                return found
        return None

    def _star_sources(self, module: Module) -> Iterator[Module]:
        for key, binding in reversed(self.scope(module.tree).names.items()):
            if key.startswith("*") and (source := self._star_source(module, binding)):
                yield source

    def _star_source(self, module: Module, binding: Binding) -> Module | None:
        assert isinstance(binding, Imported)
        path = self.paths.of_import(binding.module, binding.level, module.path)
        return self.module(path) if path and path != module.path else None

    def _exported(self, module: Module, depth: int = 0) -> list[str]:
        listed = self.scope(module.tree).names.get("__all__")
        if isinstance(listed, Assigned) and isinstance(listed.value, ast.List | ast.Tuple):
            elements = (one.value for one in listed.value.elts if isinstance(one, ast.Constant))
            return [one for one in elements if isinstance(one, str)]
        return [name for name in self._names(module, depth) if not name.startswith("_")]

    def _names(self, module: Module, depth: int) -> Iterator[str]:
        for name, binding in self.scope(module.tree).names.items():
            if not name.startswith("*"):
                yield name
            elif depth < _LONGEST_CHASE and (source := self._star_source(module, binding)):
                yield from self._exported(source, depth + 1)
