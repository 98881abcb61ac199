"""Which production code a test is about.

The names come first, as people mean them: `test_cart.py` is about `cart.py`, `TestCart` about `Cart`, `test_total`
about `total`. Where they say nothing, what the test uses most; where that is no class and no function, a module.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import PurePosixPath

from flakehound.lint.collect.cases import StaticCase
from flakehound.lint.links.name_words import module_words, starts_with, subject_words, words_of
from flakehound.lint.links.reached_code import Role, is_test_code, reached_functions
from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.used_definitions import DefinitionUse, definition_uses

_OWN_USE = 3.0  # against 1 for a use in a fixture, setup or helper one call away, 1/2 for two


class LinkSource(Enum):
    """How a test was linked."""

    NAMING = "naming"
    IMPORTS = "imports"  # by what it uses
    MODULE = "module"  # to a whole module: named like the test's file, or imported by it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """What a test is about; a class or function of the production code, or a whole module."""

    target: Definition | None = None  # None: nothing was found
    by: LinkSource | None = None

    @property
    def is_linked(self) -> bool:
        """Whether there is a target."""
        return self.target is not None


def link_of(case: StaticCase, project: Project) -> Link:
    """The production code that the test is about."""
    return project.compute_once(("link", case.function, case.id), lambda: _find_link(case, project))


def _find_link(case: StaticCase, project: Project) -> Link:
    imported = _imported_definitions(case.home, project)
    modules = _modules_named_like(case, imported, project)
    named = _by_naming(case, modules, imported, project)
    if named is not None:
        return Link(target=named, by=LinkSource.NAMING)
    used = _most_used(case, project)
    if used is not None:
        return Link(target=used, by=LinkSource.IMPORTS)
    module = next(iter([*modules, *(one.module for one in imported)]), None)
    if module is not None:
        return Link(target=Definition(name="", module=module, node=module.tree), by=LinkSource.MODULE)
    return Link()


def _by_naming(
    case: StaticCase, modules: Sequence[Module], imported: Sequence[Definition], project: Project
) -> Definition | None:
    """The class or function whose name the test's class, function or file repeats."""
    definitions = [
        *imported,
        *(definition for module in modules for definition in _definitions_in(module, project)),
    ]
    for name in reversed(case.classes):
        if found := _with_exact_name(subject_words(name), definitions):
            return found
    return (
        _with_name_prefix(subject_words(case.name), definitions)
        or _class_with_method(subject_words(case.name), definitions, project)
        or _with_exact_name(
            subject_words(PurePosixPath(case.path).stem), [one for one in definitions if one.class_]
        )
    )


def _with_exact_name(words: tuple[str, ...], definitions: Sequence[Definition]) -> Definition | None:
    """The thing of exactly this name; a class before a function."""
    fitting = [one for one in definitions if words and words_of(one.name) == words]
    return min(fitting, key=lambda one: one.class_ is None, default=None)


def _with_name_prefix(words: tuple[str, ...], definitions: Sequence[Definition]) -> Definition | None:
    """The thing whose name begins the test's: `test_total_of_nothing` is about `total`."""
    fitting = [one for one in definitions if starts_with(words, words_of(one.name))]
    return max(fitting, key=lambda one: len(words_of(one.name)), default=None)


def _class_with_method(
    words: tuple[str, ...], definitions: Sequence[Definition], project: Project
) -> Definition | None:
    """The one class that has a method whose name begins the test's."""
    owners = {one.node: one for one in definitions if one.class_ and _has_method(one.class_, words, project)}
    return next(iter(owners.values())) if len(owners) == 1 else None


def _has_method(node: ast.ClassDef, words: tuple[str, ...], project: Project) -> bool:
    names = project.scope(node).names.items()
    methods = (name for name, binding in names if isinstance(binding, FunctionNode) and not name.startswith("__"))
    return any(starts_with(words, words_of(name)) for name in methods)


def _modules_named_like(case: StaticCase, imported: Sequence[Definition], project: Project) -> list[Module]:
    """Production files that the test's file is named after, the most likely first."""
    words = subject_words(PurePosixPath(case.path).stem)
    paths = _production_by_words(project).get(words, ())
    known = {one.module.path for one in imported}
    ranked = sorted(paths, key=lambda path: (path not in known, -_shared_words(path, case.path), path))
    found = (project.module(path) for path in ranked[:3])
    return [one for one in found if one is not None]


def _production_by_words(project: Project) -> dict[tuple[str, ...], list[str]]:
    def made() -> dict[tuple[str, ...], list[str]]:
        found: dict[tuple[str, ...], list[str]] = {}
        for path in project.source_paths:
            if not is_test_code(path, project):
                found.setdefault(module_words(path), []).append(path)
        return found

    return project.compute_once("production by words", made)


def _shared_words(one: str, other: str) -> int:
    """How many folders two paths share by name, wherever they stand: `tests/shop/` mirrors `src/shop/`."""
    return len(set(PurePosixPath(one).parts[:-1]) & set(PurePosixPath(other).parts[:-1]))


def _imported_definitions(home: Module, project: Project) -> list[Definition]:
    """The production classes, functions and modules that the test's file imports by name."""
    return project.compute_once(("imported things", home.tree), lambda: list(_imported(home, project)))


def _imported(home: Module, project: Project) -> Iterator[Definition]:
    for name in project.module_names(home):
        found = project.resolve_if_bound(home, name)
        if isinstance(found, Definition) and not is_test_code(found.module.path, project):
            yield found


def _definitions_in(module: Module, project: Project) -> list[Definition]:
    """A module's own classes and functions."""
    found = []
    for name, binding in project.scope(module.tree).names.items():
        if isinstance(binding, FunctionNode | ast.ClassDef):
            found.append(Definition(name=name, module=module, node=binding))
    return found


def _most_used(case: StaticCase, project: Project) -> Definition | None:
    weights: dict[ast.AST, float] = {}
    definitions: dict[ast.AST, Definition] = {}
    for use, weight in _weighted_uses(case, project):
        if not is_test_code(use.definition.module.path, project):
            definitions[use.definition.node] = use.definition
            weights[use.definition.node] = weights.get(use.definition.node, 0.0) + weight * use.count
    # A class is what the metrics are about; a function that builds one is used as often.
    best = max(weights, key=lambda node: (weights[node], isinstance(node, ast.ClassDef)), default=None)
    return definitions[best] if best is not None else None


def _weighted_uses(case: StaticCase, project: Project) -> Iterator[tuple[DefinitionUse, float]]:
    for use in definition_uses(case.function, case.module, project, case.owner).values():
        yield use, _OWN_USE
    for one in reached_functions(case, project):
        if one.role is not Role.PRODUCTION:
            for use in definition_uses(one.function, one.module, project, one.owner).values():
                yield use, 1.0 / one.depth
