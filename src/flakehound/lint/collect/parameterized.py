"""The tests that `parameterized.expand` makes of one: it gives each its own name instead of brackets."""

from __future__ import annotations

import ast
import re

from flakehound.lint.source.definitions import Definition, dotted_name
from flakehound.lint.source.project import Project

_EXPAND = "parameterized.expand"
_UNSAFE = re.compile(r"[^a-zA-Z0-9_]+")


def expanded_names(name: str, found: Definition, project: Project) -> list[str]:
    """The names of the tests made of a method; its own where they cannot be seen, or it is not expanded."""
    call = _expansion(found, project)
    if call is None or any(key.arg == "name_func" for key in call.keywords):
        return [name]
    rows = _rows(call.args[0] if call.args else None, found, project)
    if rows is None:
        return [name]
    digits = len(str(len(rows) - 1))
    return [f"{name}_{number:0>{digits}}{_suffix(row)}" for number, row in enumerate(rows)]


def _expansion(found: Definition, project: Project) -> ast.Call | None:
    for one in found.function.decorator_list if found.function is not None else ():
        written = dotted_name(one.func) if isinstance(one, ast.Call) else None
        if written and project.resolve(found.module, written).name.endswith(_EXPAND):
            assert isinstance(one, ast.Call)
            return one
    return None


def _rows(node: ast.expr | None, found: Definition, project: Project) -> list[ast.expr] | None:
    if isinstance(node, ast.Name):
        bound = project.member(found.owner, node.id) if found.owner else None
        meaning = bound or project.resolve_if_bound(found.module, node.id)
        node = meaning.value if isinstance(meaning, Definition) else None
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(one, ast.Starred) for one in node.elts):
        return list(node.elts)
    return None


def _suffix(row: ast.expr) -> str:
    """The first value, if it is text."""
    if isinstance(row, ast.Tuple | ast.List):
        first = row.elts[0] if row.elts else None
    elif isinstance(row, ast.Call):  # param(...)
        first = row.args[0] if row.args else None
    else:
        first = row
    text = first.value if isinstance(first, ast.Constant) else None
    return "_" + _UNSAFE.sub("_", text) if isinstance(text, str) else ""
