"""Find the function behind a name that is decorated, an alias, a wrapper, or made by another function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.lint.source.definitions import Definition, External, Meaning, dotted_name
from flakehound.lint.source.modules import Module
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode

_PROPERTY_DECORATORS = ("property", "cached_property", "cachedproperty", "abstractproperty", "setter", "getter")
_WRAPPERS = ("functools.partial", "staticmethod", "classmethod", "functools.partialmethod")
_MAX_WRAPPERS = 5


def decorator_names(node: FunctionNode | ast.ClassDef, module: Module, project: Project) -> list[str]:
    """The full names of the decorators, also of called ones: `@mark.skipif(...)` gives `pytest.mark.skipif`."""
    names = (
        dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator)
        for decorator in node.decorator_list
    )
    return [full_name(project.resolve(module, name)) for name in names if name]


def full_name(meaning: Meaning) -> str:
    """The full dotted name; that of a definition in the project starts with the path of its file."""
    if isinstance(meaning, External):
        return meaning.name
    path = meaning.module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return f"{path}.{meaning.name}" if meaning.name else path


def underlying_function(definition: Definition, project: Project) -> FunctionNode | None:
    """The function that a definition is or wraps; None if there is none or the source does not show it."""
    found = function_and_module(definition, project)
    return found[0] if found is not None else None


def function_and_module(
    definition: Definition, project: Project, depth: int = 0
) -> tuple[FunctionNode, Module] | None:
    """The function that a definition is or wraps, and the module whose source contains it."""
    if definition.function is not None:
        return (definition.function, definition.module) if is_callable(definition.function) else None
    if isinstance(definition.value, ast.Lambda):
        return _lambda_as_function(definition.value, definition.name.rpartition(".")[2]), definition.module
    if isinstance(definition.value, ast.Call) and depth < _MAX_WRAPPERS:
        return _function_from_call(definition.value, definition, project, depth)
    return None


def is_callable(function: FunctionNode) -> bool:
    """Whether it is still callable after its decorators ran; a property is not."""
    names = (
        dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
        for decorator in function.decorator_list
    )
    return not any(name.rpartition(".")[2] in _PROPERTY_DECORATORS for name in names)


def _function_from_call(
    call: ast.Call, definition: Definition, project: Project, depth: int
) -> tuple[FunctionNode, Module] | None:
    """The function that a wrapper such as `functools.partial` wraps, or that a factory returns."""
    name = dotted_name(call.func)
    maker = project.resolve(definition.module, name) if name else None
    if isinstance(maker, External) and maker.name in _WRAPPERS and call.args:
        wrapped = dotted_name(call.args[0])
        inner = project.resolve(definition.module, wrapped) if wrapped else None
        return function_and_module(inner, project, depth + 1) if isinstance(inner, Definition) else None
    if isinstance(maker, Definition) and maker.function is not None:
        returned = _returned_function(maker.function)
        return (returned, maker.module) if returned is not None else None
    return None


def _returned_function(factory: FunctionNode) -> FunctionNode | None:
    """The inner function that a function returns."""
    inner = {statement.name: statement for statement in factory.body if isinstance(statement, FunctionNode)}
    return next((inner[name] for name in _returned_names(factory) if name in inner), None)


def _returned_names(factory: FunctionNode) -> Iterator[str]:
    for statement in factory.body:
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Name):
            yield statement.value.id


def _lambda_as_function(function: ast.Lambda, name: str) -> ast.FunctionDef:
    body = ast.copy_location(ast.Return(value=function.body), function.body)
    definition = ast.FunctionDef(name=name, args=function.args, body=[body], decorator_list=[])
    return ast.copy_location(definition, function)
