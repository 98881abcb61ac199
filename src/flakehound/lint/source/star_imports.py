"""The names that `from module import *` binds."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.source.modules import Module
from flakehound.lint.source.project_files import ProjectFiles
from flakehound.lint.source.scopes import AssignedName, Binding, ImportedName

_MAX_DEPTH = 20  # of star imports within star imports; also ends a cycle


def star_imported_modules(module: Module, files: ProjectFiles) -> Iterator[Module]:
    """The modules of the project that a module imports with a star, the last import first."""
    for key, binding in reversed(files.scope(module.tree).names.items()):
        if key.startswith("*") and (source := _star_source(module, binding, files)):
            yield source


def exported_names(module: Module, files: ProjectFiles, depth: int = 0) -> list[str]:
    """The names that a star import of the module binds: `__all__`, else all without a leading underscore."""
    listed = files.scope(module.tree).names.get("__all__")
    if isinstance(listed, AssignedName) and isinstance(listed.value, ast.List | ast.Tuple):
        values = (element.value for element in listed.value.elts if isinstance(element, ast.Constant))
        return [value for value in values if isinstance(value, str)]
    return [name for name in names_in_dict(module, files, depth) if not name.startswith("_")]


def names_in_dict(module: Module, files: ProjectFiles, depth: int = 0) -> Iterator[str]:
    """The names of the module's `__dict__` in its order, with those from star imports; may repeat names."""
    for name, binding in files.scope(module.tree).names.items():
        if not name.startswith("*"):
            yield name
        elif depth < _MAX_DEPTH and (source := _star_source(module, binding, files)):
            yield from exported_names(source, files, depth + 1)


def _star_source(module: Module, binding: Binding, files: ProjectFiles) -> Module | None:
    assert isinstance(binding, ImportedName)
    path = files.paths.path_of_import(binding.module, binding.level, module.path)
    return files.module(path) if path and path != module.path else None
