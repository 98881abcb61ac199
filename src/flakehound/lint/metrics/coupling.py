"""How much a unit has to do with others."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping

from flakehound.lint.metrics.code import called_name
from flakehound.lint.metrics.units import Unit

_OWN = ("self", "cls")


def cbo(unit: Unit, imports: Mapping[str, str], neighbours: Collection[str]) -> int:
    """Distinct imported names and classes of the same file that the unit's code uses."""
    used = {node.id for node in unit.code.everywhere(ast.Name)}
    others = {imports[name] for name in used if name in imports}
    return len(others) + len(used & set(neighbours) - {unit.name} - set(imports))


def mpc(unit: Unit) -> int:
    """Calls in the methods that go to something else than the object itself."""
    return sum(not _is_to_itself(call) for method in unit.methods for call in method.code.all(ast.Call))


def rfc(unit: Unit, inherited: Collection[str]) -> int:
    """Distinct names among the methods, the inherited methods, and all that the methods call."""
    own = {method.node.name for method in unit.methods}
    called = {called_name(call) for method in unit.methods for call in method.code.all(ast.Call)}
    return len((own | called | set(inherited)) - {""})


def _is_to_itself(call: ast.Call) -> bool:
    target = call.func
    if not isinstance(target, ast.Attribute):
        return False
    owner = target.value
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id in _OWN
