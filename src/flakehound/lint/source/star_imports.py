"""What `from module import *` brings into a module."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.source.modules import Module
from flakehound.lint.source.project_files import ProjectFiles
from flakehound.lint.source.scopes import AssignedName, Binding, ImportedName

_MAX_DEPTH = 20  # star imports of star imports; also what ends a cycle of them


def star_sources(module: Module, files: ProjectFiles) -> Iterator[Module]:
    """The modules of the project that a module imports with a star, the last import first."""
    for key, binding in reversed(files.scope(module.tree).names.items()):
        if key.startswith("*") and (source := _star_source(module, binding, files)):
            yield source


def exported_names(module: Module, files: ProjectFiles, depth: int = 0) -> list[str]:
    """The names that a star import of the module binds: those of `__all__`, else all without an underscore."""
    listed = files.scope(module.tree).names.get("__all__")
    if isinstance(listed, AssignedName) and isinstance(listed.value, ast.List | ast.Tuple):
        elements = (one.value for one in listed.value.elts if isinstance(one, ast.Constant))
        return [one for one in elements if isinstance(one, str)]
    return [name for name in names_in_dict(module, files, depth) if not name.startswith("_")]


def names_in_dict(module: Module, files: ProjectFiles, depth: int = 0) -> Iterator[str]:
    """The names of the module's `__dict__` with those of star imports, in its order; some come twice."""
    for name, binding in files.scope(module.tree).names.items():
        if not name.startswith("*"):
            yield name
        elif depth < _MAX_DEPTH and (source := _star_source(module, binding, files)):
            yield from exported_names(source, files, depth + 1)


def _star_source(module: Module, binding: Binding, files: ProjectFiles) -> Module | None:
    assert isinstance(binding, ImportedName)
    path = files.paths.of_import(binding.module, binding.level, module.path)
    return files.module(path) if path and path != module.path else None
