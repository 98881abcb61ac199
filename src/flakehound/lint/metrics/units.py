"""The production code that a test is linked to, seen as one thing with methods and attributes.

A class has methods and attributes. A module is read as a class too: its functions and the methods of its classes
are the methods, its global variables the attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from flakehound.lint.metrics.code import Code, code_of
from flakehound.lint.source.scopes import FunctionNode, parameter_names

_MINE = ("self", "cls")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Method:
    """A function of a unit."""

    node: FunctionNode
    code: Code
    attributes: frozenset[str]  # of the unit, that it reads or writes

    @property
    def lines(self) -> int:
        """Lines from `def` to the end."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def parameters(self) -> list[str]:
        """Names of the parameters without the object itself."""
        return [name for name in parameter_names(self.node) if name not in _MINE]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Unit:
    """A class or a module."""

    node: ast.ClassDef | ast.Module
    code: Code
    methods: tuple[Method, ...]
    attributes: frozenset[str]

    @property
    def name(self) -> str:
        """The class's name; empty for a module."""
        return self.node.name if isinstance(self.node, ast.ClassDef) else ""

    @property
    def method_names(self) -> frozenset[str]:
        """Names of the methods, without those that Python itself calls."""
        names = (method.node.name for method in self.methods)
        return frozenset(name for name in names if not _is_dunder(name))


def unit_of(node: ast.ClassDef | ast.Module) -> Unit:
    """The unit that a class or a module makes."""
    is_class = isinstance(node, ast.ClassDef)
    code = code_of([node] if is_class else node.body)
    functions: list[FunctionNode] = [*code.own(ast.FunctionDef), *code.own(ast.AsyncFunctionDef)]
    used = [
        _of_objects(inner, node.name) if isinstance(node, ast.ClassDef) else _loaded(inner) for inner in code.inner
    ]
    attributes = _attributes(node, code)
    methods = [
        Method(node=function, code=inner, attributes=frozenset(names & attributes))
        for function, inner, names in zip(functions, code.inner, used, strict=True)
    ]
    return Unit(node=node, code=code, methods=tuple(_in_order(methods)), attributes=frozenset(attributes))


def _in_order(methods: Sequence[Method]) -> list[Method]:
    return sorted(methods, key=lambda method: (method.node.lineno, method.node.col_offset))


def _attributes(node: ast.ClassDef | ast.Module, code: Code) -> set[str]:
    names = {name for statement in node.body for name in _bound(statement)}
    if isinstance(node, ast.ClassDef):
        names |= {name for inner in code.inner for name in _stored_on_self(inner)}
    return {name for name in names if not _is_dunder(name)}


def _bound(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign):
        targets = [part for target in statement.targets for part in ast.walk(target)]
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    else:
        return
    yield from (one.id for one in targets if isinstance(one, ast.Name))


def _stored_on_self(code: Code) -> Iterator[str]:
    for node in code.all(ast.Attribute):
        if isinstance(node.ctx, ast.Store) and _is_named(node.value, _MINE):
            yield node.attr


def _of_objects(code: Code, class_name: str) -> set[str]:
    owners = (*_MINE, class_name)
    return {node.attr for node in code.all(ast.Attribute) if _is_named(node.value, owners)}


def _loaded(code: Code) -> set[str]:
    return {node.id for node in code.all(ast.Name)}


def _is_named(node: ast.expr, names: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
