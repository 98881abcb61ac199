"""The source files of a project, parsed once, and a cache that knows which files a result depends on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar, cast

from flakehound.core.collection_patterns import Patterns
from flakehound.lint.source.imports import ModulePaths
from flakehound.lint.source.modules import Module, Unparsable, parse_source
from flakehound.lint.source.scopes import Scope, scope_of

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CachedResult:
    result: object
    read_paths: set[str]  # of the files it was computed from


class ProjectFiles:
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
        self.paths = ModulePaths(sources, import_roots)
        self._sources = sources
        self._parsed: dict[str, Module | Unparsable] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._cache: dict[Hashable, _CachedResult] = {}
        self._read_paths: set[str] = set()

    @contextmanager
    def track_reads(self) -> Iterator[set[str]]:
        """Fill a set with the paths of all files that are read within the block: what an answer depends on.

        A cached result adds the files that it was computed from.
        """
        outer, inner = self._read_paths, set[str]()
        self._read_paths = inner
        try:
            yield inner
        finally:
            outer |= inner
            self._read_paths = outer

    def unparsable_in(self, paths: Collection[str]) -> tuple[Unparsable, ...]:
        """Those of the files that do not parse."""
        found = (self._parsed.get(path) for path in sorted(paths))
        return tuple(one for one in found if isinstance(one, Unparsable))

    def module(self, path: str) -> Module | None:
        """The file at a path; None where there is none or it does not parse."""
        if path not in self._sources:
            return None
        self._read_paths.add(path)
        if path not in self._parsed:
            source = self._sources[path]
            self._parsed[path] = source if isinstance(source, Module) else parse_source(path, source)
        found = self._parsed[path]
        return found if isinstance(found, Module) else None

    @property
    def source_paths(self) -> tuple[str, ...]:
        """Every file's path, sorted."""
        return tuple(sorted(self._sources))

    def cached(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """The result that `compute` gave when it was first called for the key; syntax nodes are good keys."""
        found = self._cache.get(key)
        if found is None:
            outer, self._read_paths = self._read_paths, set()
            try:
                found = self._cache[key] = _CachedResult(result=compute(), read_paths=self._read_paths)
            finally:
                self._read_paths = outer
        self._read_paths |= found.read_paths
        return cast("_Result", found.result)

    def test_modules(self) -> Iterator[Module]:
        """The files that the patterns make test files, in the order of their paths."""
        for path in sorted(self._sources):
            if self.patterns.is_test_file(path) and (module := self.module(path)):
                yield module

    def module_named(self, name: str, near: Module | None = None) -> Module | None:
        """The file that `import name` means; of several the one nearest to the importing file."""
        path = self.paths.of_module(name, near.path if near else "")
        return self.module(path) if path else None

    def imported_module(self, name: str, level: int, importer: Module) -> Module | None:
        """The file that an import statement means, relative or not; None outside the project."""
        path = self.paths.of_import(name, level, importer.path)
        return self.module(path) if path else None

    def conftests(self, module: Module) -> tuple[Module, ...]:
        """The `conftest.py` files in force for a file, the nearest first."""
        return self.cached(("conftests", module.tree), lambda: tuple(self._conftests(module)))

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
