"""The function behind a name: decorated, aliased, wrapped or made by another."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.source.definitions import Definition, External, Meaning, dotted_name
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

_NOT_CALLABLE = ("property", "cached_property", "cachedproperty", "abstractproperty", "setter", "getter")
_WRAPPERS = ("functools.partial", "staticmethod", "classmethod", "functools.partialmethod")
_DEEPEST = 5


def decorator_names(node: FunctionNode | ast.ClassDef, module: Module, project: Project) -> list[str]:
    """The full names of the decorators, calls and all: `@mark.skipif(...)` gives `pytest.mark.skipif`."""
    written = (dotted_name(one.func if isinstance(one, ast.Call) else one) for one in node.decorator_list)
    return [full_name(project.resolve(module, name)) for name in written if name]


def full_name(meaning: Meaning) -> str:
    """A dotted name for anything; a project's own things start with their file's dotted path."""
    if isinstance(meaning, External):
        return meaning.name
    path = meaning.module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{path}.{meaning.name}" if meaning.name else path


def underlying_function(found: Definition, project: Project) -> FunctionNode | None:
    """The function that a definition is or wraps; None where it is none, or that cannot be seen."""
    written = function_with_module(found, project)
    return written[0] if written is not None else None


def function_with_module(
    found: Definition, project: Project, depth: int = 0
) -> tuple[FunctionNode, Module] | None:
    """The function that a definition is or wraps, with the module in which it is written."""
    if found.function is not None:
        return (found.function, found.module) if is_callable(found.function) else None
    if isinstance(found.value, ast.Lambda):
        return _named(found.value, found.name.rpartition(".")[2]), found.module
    if isinstance(found.value, ast.Call) and depth < _DEEPEST:
        return _made_by(found.value, found, project, depth)
    return None


def is_callable(function: FunctionNode) -> bool:
    """Whether its decorators leave it a function; a property is none."""
    written = (
        dotted_name(one.func if isinstance(one, ast.Call) else one) or "" for one in function.decorator_list
    )
    return not any(name.rpartition(".")[2] in _NOT_CALLABLE for name in written)


def _made_by(
    call: ast.Call, found: Definition, project: Project, depth: int
) -> tuple[FunctionNode, Module] | None:
    name = dotted_name(call.func)
    maker = project.resolve(found.module, name) if name else None
    if isinstance(maker, External) and maker.name in _WRAPPERS and call.args:
        wrapped = dotted_name(call.args[0])
        inner = project.resolve(found.module, wrapped) if wrapped else None
        return function_with_module(inner, project, depth + 1) if isinstance(inner, Definition) else None
    if isinstance(maker, Definition) and maker.function is not None:
        returned = _returned_function(maker.function)
        return (returned, maker.module) if returned is not None else None
    return None


def _returned_function(maker: FunctionNode) -> FunctionNode | None:
    """The inner function that a factory of functions returns."""
    inner = {one.name: one for one in maker.body if isinstance(one, FunctionNode)}
    for returned in _returned_names(maker):
        if returned in inner:
            return inner[returned]
    return None


def _returned_names(maker: FunctionNode) -> Iterator[str]:
    for one in maker.body:
        if isinstance(one, ast.Return) and isinstance(one.value, ast.Name):
            yield one.value.id


def _named(function: ast.Lambda, name: str) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(value=function.body), function.body)
    made = ast.FunctionDef(name=name, args=function.args, body=[body], decorator_list=[])
    return ast.copy_location(made, function)
