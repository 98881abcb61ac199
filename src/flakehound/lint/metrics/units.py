"""Classes and modules as units with methods and attributes.

A module counts as a class, too: its functions and the methods of its classes are the methods, and its global
variables are the attributes.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from flakehound.lint.metrics.code_nodes import Code, code_of
from flakehound.lint.source.scopes import FunctionNode, parameter_names

_SELF_NAMES = ("self", "cls")


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Method:
    """A function of a unit."""

    node: FunctionNode
    code: Code
    attributes: frozenset[str]  # attributes of the unit that it reads or writes

    @property
    def lines(self) -> int:
        """The number of lines from `def` to the end."""
        return (self.node.end_lineno or self.node.lineno) - self.node.lineno + 1

    @property
    def parameters(self) -> list[str]:
        """The names of the parameters without `self` and `cls`."""
        return [name for name in parameter_names(self.node) if name not in _SELF_NAMES]


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
        """The names of the methods, without special methods such as `__init__`."""
        names = (method.node.name for method in self.methods)
        return frozenset(name for name in names if not _is_dunder(name))


def unit_of(node: ast.ClassDef | ast.Module) -> Unit:
    """Read a class or a module as a unit."""
    is_class = isinstance(node, ast.ClassDef)
    code = code_of([node] if is_class else node.body)
    functions: list[FunctionNode] = [*code.own_nodes(ast.FunctionDef), *code.own_nodes(ast.AsyncFunctionDef)]
    used_names = [
        _attributes_of_self(inner, node.name) if isinstance(node, ast.ClassDef) else _all_names(inner)
        for inner in code.inner
    ]
    attributes = _unit_attributes(node, code)
    methods = [
        Method(node=function, code=inner, attributes=frozenset(names & attributes))
        for function, inner, names in zip(functions, code.inner, used_names, strict=True)
    ]
    return Unit(node=node, code=code, methods=tuple(_by_position(methods)), attributes=frozenset(attributes))


def _by_position(methods: Sequence[Method]) -> list[Method]:
    return sorted(methods, key=lambda method: (method.node.lineno, method.node.col_offset))


def _unit_attributes(node: ast.ClassDef | ast.Module, code: Code) -> set[str]:
    names = {name for statement in node.body for name in _names_bound_by(statement)}
    if isinstance(node, ast.ClassDef):
        names |= {name for inner in code.inner for name in _attributes_set_on_self(inner)}
    return {name for name in names if not _is_dunder(name)}


def _names_bound_by(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign):
        targets = [part for target in statement.targets for part in ast.walk(target)]
    elif isinstance(statement, ast.AnnAssign | ast.AugAssign):
        targets = [statement.target]
    else:
        return
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _attributes_set_on_self(code: Code) -> Iterator[str]:
    for node in code.all_nodes(ast.Attribute):
        if isinstance(node.ctx, ast.Store) and _is_named(node.value, _SELF_NAMES):
            yield node.attr


def _attributes_of_self(code: Code, class_name: str) -> set[str]:
    owners = (*_SELF_NAMES, class_name)
    return {node.attr for node in code.all_nodes(ast.Attribute) if _is_named(node.value, owners)}


def _all_names(code: Code) -> set[str]:
    return {node.id for node in code.all_nodes(ast.Name)}


def _is_named(node: ast.expr, names: Collection[str]) -> bool:
    return isinstance(node, ast.Name) and node.id in names


def _is_dunder(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")
