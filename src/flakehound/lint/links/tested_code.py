"""Find the production code that a test is about.

First by names: `test_cart.py` is about `cart.py`, `TestCart` about `Cart`, `test_total` about `total`. Else the
class or function that the test uses most. Else a module.
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

# A use in a fixture, set-up or helper has weight 1 if it is one call away, 1/2 if it is two.
_WEIGHT_OF_OWN_USE = 3.0


class LinkSource(Enum):
    """How the link from a test to production code was found."""

    NAMING = "naming"
    IMPORTS = "imports"  # by what the test uses
    MODULE = "module"  # a whole module, named like the test's file or imported by it


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Link:
    """The production code that a test is about: a class, a function or a whole module."""

    target: Definition | None = None  # None: nothing was found
    source: LinkSource | None = None


def link_of(case: StaticCase, project: Project) -> Link:
    """The production code that the test is about."""
    return project.compute_once(("link", case.function, case.id), lambda: _find_link(case, project))


def _find_link(case: StaticCase, project: Project) -> Link:
    imported = _imported_definitions(case.collected_module, project)
    modules = _modules_named_like(case, imported, project)
    named = _by_naming(case, modules, imported, project)
    if named is not None:
        return Link(target=named, source=LinkSource.NAMING)
    used = _most_used(case, project)
    if used is not None:
        return Link(target=used, source=LinkSource.IMPORTS)
    module = next(iter([*modules, *(definition.module for definition in imported)]), None)
    if module is not None:
        return Link(target=Definition(name="", module=module, node=module.tree), source=LinkSource.MODULE)
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
        if definition := _with_exact_name(subject_words(name), definitions):
            return definition
    return (
        _with_name_prefix(subject_words(case.name), definitions)
        or _class_with_method(subject_words(case.name), definitions, project)
        or _with_exact_name(
            subject_words(PurePosixPath(case.path).stem),
            [definition for definition in definitions if definition.class_],
        )
    )


def _with_exact_name(words: tuple[str, ...], definitions: Sequence[Definition]) -> Definition | None:
    """The definition whose name has exactly these words; a class before a function."""
    matches = [definition for definition in definitions if words and words_of(definition.name) == words]
    return min(matches, key=lambda definition: definition.class_ is None, default=None)


def _with_name_prefix(words: tuple[str, ...], definitions: Sequence[Definition]) -> Definition | None:
    """The definition whose name starts the test's name: `test_total_of_nothing` is about `total`."""
    matches = [definition for definition in definitions if starts_with(words, words_of(definition.name))]
    return max(matches, key=lambda definition: len(words_of(definition.name)), default=None)


def _class_with_method(
    words: tuple[str, ...], definitions: Sequence[Definition], project: Project
) -> Definition | None:
    """The class with a method whose name starts the test's name; None if several classes have one."""
    classes = {
        definition.node: definition
        for definition in definitions
        if definition.class_ and _has_method(definition.class_, words, project)
    }
    return next(iter(classes.values())) if len(classes) == 1 else None


def _has_method(node: ast.ClassDef, words: tuple[str, ...], project: Project) -> bool:
    names = project.scope(node).names.items()
    methods = (name for name, binding in names if isinstance(binding, FunctionNode) and not name.startswith("__"))
    return any(starts_with(words, words_of(name)) for name in methods)


def _modules_named_like(case: StaticCase, imported: Sequence[Definition], project: Project) -> list[Module]:
    """Production files that the test's file is named after, the most likely first."""
    words = subject_words(PurePosixPath(case.path).stem)
    paths = _production_paths_by_words(project).get(words, ())
    imported_paths = {definition.module.path for definition in imported}
    ranked = sorted(
        paths, key=lambda path: (path not in imported_paths, -_shared_folder_names(path, case.path), path)
    )
    modules = (project.module(path) for path in ranked[:3])
    return [module for module in modules if module is not None]


def _production_paths_by_words(project: Project) -> dict[tuple[str, ...], list[str]]:
    def group_paths() -> dict[tuple[str, ...], list[str]]:
        paths: dict[tuple[str, ...], list[str]] = {}
        for path in project.source_paths:
            if not is_test_code(path, project):
                paths.setdefault(module_words(path), []).append(path)
        return paths

    return project.compute_once("production by words", group_paths)


def _shared_folder_names(path: str, other_path: str) -> int:
    """How many folder names two paths have in common, at any level: `tests/shop/` mirrors `src/shop/`."""
    return len(set(PurePosixPath(path).parts[:-1]) & set(PurePosixPath(other_path).parts[:-1]))


def _imported_definitions(collected_module: Module, project: Project) -> list[Definition]:
    """The production classes, functions and modules that the test's file imports by name."""
    return project.compute_once(
        ("imported definitions", collected_module.tree),
        lambda: list(_find_imported_definitions(collected_module, project)),
    )


def _find_imported_definitions(collected_module: Module, project: Project) -> Iterator[Definition]:
    for name in project.module_names(collected_module):
        definition = project.resolve_if_bound(collected_module, name)
        if isinstance(definition, Definition) and not is_test_code(definition.module.path, project):
            yield definition


def _definitions_in(module: Module, project: Project) -> list[Definition]:
    """A module's own classes and functions."""
    definitions = []
    for name, binding in project.scope(module.tree).names.items():
        if isinstance(binding, FunctionNode | ast.ClassDef):
            definitions.append(Definition(name=name, module=module, node=binding))
    return definitions


def _most_used(case: StaticCase, project: Project) -> Definition | None:
    weights: dict[ast.AST, float] = {}
    definitions: dict[ast.AST, Definition] = {}
    for use, weight in _weighted_uses(case, project):
        if not is_test_code(use.definition.module.path, project):
            definitions[use.definition.node] = use.definition
            weights[use.definition.node] = weights.get(use.definition.node, 0.0) + weight * use.count
    # Prefer a class, because the metrics describe classes; a function that builds one is used as often.
    best = max(weights, key=lambda node: (weights[node], isinstance(node, ast.ClassDef)), default=None)
    return definitions[best] if best is not None else None


def _weighted_uses(case: StaticCase, project: Project) -> Iterator[tuple[DefinitionUse, float]]:
    for use in definition_uses(case.function, case.module, project, case.owner).values():
        yield use, _WEIGHT_OF_OWN_USE
    for reached in reached_functions(case, project):
        if reached.role is not Role.PRODUCTION:
            for use in definition_uses(reached.function, reached.module, project, reached.owner).values():
                yield use, 1.0 / reached.depth
