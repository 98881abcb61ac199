"""Coupling: how much a unit uses other code."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from flakehound.lint.metrics.code_nodes import called_name
from flakehound.lint.metrics.units import Unit

_SELF_NAMES = ("self", "cls")


def cbo(unit: Unit, imports: Mapping[str, str], classes_of_file: Collection[str]) -> int:
    """The number of distinct imported names, and classes of the same file, that the unit uses."""
    used = {node.id for node in unit.code.all_nodes_with_headers(ast.Name)}
    imported = {imports[name] for name in used if name in imports}
    return len(imported) + len(used & set(classes_of_file) - {unit.name} - set(imports))


def mpc(unit: Unit) -> int:
    """Calls in the methods, without those of methods of the object itself."""
    return sum(
        not _is_call_of_own_method(call) for method in unit.methods for call in method.code.all_nodes(ast.Call)
    )


def rfc(unit: Unit, inherited: Collection[str]) -> int:
    """The number of distinct names of own methods, inherited methods and functions that the methods call."""
    method_names = {method.node.name for method in unit.methods}
    called_names = {called_name(call) for method in unit.methods for call in method.code.all_nodes(ast.Call)}
    return len((method_names | called_names | set(inherited)) - {""})


def _is_call_of_own_method(call: ast.Call) -> bool:
    target = call.func
    if not isinstance(target, ast.Attribute):
        return False
    owner = target.value
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id in _SELF_NAMES
