"""The values that the methods of a class assign to `self.x`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.lint.source.definitions import Definition
from flakehound.lint.source.project import Project
from flakehound.lint.source.scopes import FunctionNode
from flakehound.lint.source.syntax_walk import nodes_of


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SelfAssignment:
    """An assignment `self.x = value`, and the method that contains it."""

    value: ast.expr
    method: FunctionNode
    owner: Definition  # the class whose body contains the method


def attributes_set_on_self(owner: Definition, project: Project) -> dict[str, SelfAssignment]:
    """Attributes that methods of the class or its bases set on `self` or `cls`; the first assignment counts."""
    return project.compute_once(("set_attributes", owner.node), lambda: _attributes_of(owner, project))


def _attributes_of(owner: Definition, project: Project) -> dict[str, SelfAssignment]:
    assignments: dict[str, SelfAssignment] = {}
    for base in project.mro(owner):
        if isinstance(base, Definition) and base.class_ is not None:
            for method in base.class_.body:
                if isinstance(method, FunctionNode):
                    for name, value in _assignments_to_self(method):
                        assignments.setdefault(name, SelfAssignment(value=value, method=method, owner=base))
    return assignments


def _assignments_to_self(method: FunctionNode) -> Iterator[tuple[str, ast.expr]]:
    arguments = method.args.posonlyargs or method.args.args
    if not arguments:
        return
    self_name = arguments[0].arg
    for node in nodes_of(method):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if _is_attribute_of(target, self_name):
                    yield target.attr, node.value  # type: ignore[attr-defined]
        elif (
            isinstance(node, ast.AnnAssign) and node.value is not None and _is_attribute_of(node.target, self_name)
        ):
            yield node.target.attr, node.value  # type: ignore[union-attr]


def _is_attribute_of(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) and target.value.id == name
