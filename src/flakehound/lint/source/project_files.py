"""The source files of a project, parsed once, and a cache that records which files a result depends on."""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TypeVar, cast

from flakehound.core.collection_patterns import CollectionPatterns
from flakehound.lint.source.imports import ModulePaths
from flakehound.lint.source.modules import Module, Unparsable, parse_source
from flakehound.lint.source.scopes import Scope, scope_of

_Result = TypeVar("_Result")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _CachedResult:
    result: object
    read_paths: set[str]  # files that it was computed from


class ProjectFiles:
    """The files by path relative to pytest's rootdir; each is parsed when it is first needed.

    `import_roots` are folders that imports start from, in addition to those that pytest finds itself.
    """

    def __init__(
        self,
        sources: Mapping[str, bytes | Module],
        *,
        patterns: CollectionPatterns | None = None,
        import_roots: Sequence[str] = (),
    ) -> None:
        self.patterns = patterns or CollectionPatterns()
        self.paths = ModulePaths(sources, import_roots)
        self._sources = sources
        self._parsed: dict[str, Module | Unparsable] = {}
        self._scopes: dict[ast.AST, Scope] = {}
        self._cache: dict[Hashable, _CachedResult] = {}
        self._read_paths: set[str] = set()

    @contextmanager
    def track_reads(self) -> Iterator[set[str]]:
        """Collect the paths of all files that are read within the block, in the set that it yields.

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
        """The files among the paths that cannot be parsed."""
        parsed = (self._parsed.get(path) for path in sorted(paths))
        return tuple(file for file in parsed if isinstance(file, Unparsable))

    def module(self, path: str) -> Module | None:
        """The file at a path; None if there is none or it cannot be parsed."""
        if path not in self._sources:
            return None
        self._read_paths.add(path)
        if path not in self._parsed:
            source = self._sources[path]
            self._parsed[path] = source if isinstance(source, Module) else parse_source(path, source)
        parsed = self._parsed[path]
        return parsed if isinstance(parsed, Module) else None

    @property
    def source_paths(self) -> tuple[str, ...]:
        """The paths of all files, sorted."""
        return tuple(sorted(self._sources))

    def compute_once(self, key: Hashable, compute: Callable[[], _Result]) -> _Result:
        """The result of `compute`, which is called only the first time that the key is used."""
        cached_result = self._cache.get(key)
        if cached_result is None:
            outer, self._read_paths = self._read_paths, set()
            try:
                cached_result = self._cache[key] = _CachedResult(result=compute(), read_paths=self._read_paths)
            finally:
                self._read_paths = outer
        self._read_paths |= cached_result.read_paths
        return cast("_Result", cached_result.result)

    def test_modules(self) -> Iterator[Module]:
        """The test files, by the patterns of their names, in the order of their paths."""
        for path in sorted(self._sources):
            if self.patterns.is_test_file(path) and (module := self.module(path)):
                yield module

    def module_named(self, name: str, near: Module | None = None) -> Module | None:
        """The file that `import name` imports; of several the one nearest to the importing file."""
        path = self.paths.path_of_module(name, near.path if near else "")
        return self.module(path) if path else None

    def imported_module(self, name: str, level: int, importer: Module) -> Module | None:
        """The file that an import statement imports; None if it is outside the project."""
        path = self.paths.path_of_import(name, level, importer.path)
        return self.module(path) if path else None

    def conftests(self, module: Module) -> tuple[Module, ...]:
        """The `conftest.py` files that apply to a file, the nearest first."""
        return self.compute_once(("conftests", module.tree), lambda: tuple(self._conftests(module)))

    def _conftests(self, module: Module) -> Iterator[Module]:
        for folder in PurePosixPath(module.path).parents:
            conftest = self.module(str(folder / "conftest.py"))
            if conftest and conftest is not module:
                yield conftest

    def scope(self, node: ast.Module | ast.ClassDef) -> Scope:
        """The names that the body of a module or class binds."""
        if node not in self._scopes:
            self._scopes[node] = scope_of(node.body)
        return self._scopes[node]
