"""The tests that `parameterized.expand` makes of a method; each has its own name, without brackets."""

from __future__ import annotations

import ast
import re

from flakehound.lint.source.definitions import Definition, dotted_name
from flakehound.lint.source.project import Project

_EXPAND = "parameterized.expand"
_NOT_ALLOWED_IN_NAME = re.compile(r"[^a-zA-Z0-9_]+")


def expanded_names(name: str, method: Definition, project: Project) -> list[str]:
    """The names of the tests made of a method; only its own name if it is not expanded or the rows are unknown."""
    call = _expand_call(method, project)
    if call is None or any(key.arg == "name_func" for key in call.keywords):
        return [name]
    rows = _rows(call.args[0] if call.args else None, method, project)
    if rows is None:
        return [name]
    digits = len(str(len(rows) - 1))
    return [f"{name}_{number:0>{digits}}{_suffix(row)}" for number, row in enumerate(rows)]


def _expand_call(method: Definition, project: Project) -> ast.Call | None:
    for decorator in method.function.decorator_list if method.function is not None else ():
        name = dotted_name(decorator.func) if isinstance(decorator, ast.Call) else None
        if name and project.resolve(method.module, name).name.endswith(_EXPAND):
            assert isinstance(decorator, ast.Call)
            return decorator
    return None


def _rows(node: ast.expr | None, method: Definition, project: Project) -> list[ast.expr] | None:
    if isinstance(node, ast.Name):
        bound = project.member(method.owner, node.id) if method.owner else None
        meaning = bound or project.resolve_if_bound(method.module, node.id)
        node = meaning.value if isinstance(meaning, Definition) else None
    if isinstance(node, ast.List | ast.Tuple) and not any(isinstance(row, ast.Starred) for row in node.elts):
        return list(node.elts)
    return None


def _suffix(row: ast.expr) -> str:
    """What is appended to the test's name: the first value of the row if it is a string."""
    if isinstance(row, ast.Tuple | ast.List):
        first = row.elts[0] if row.elts else None
    elif isinstance(row, ast.Call):  # param(...)
        first = row.args[0] if row.args else None
    else:
        first = row
    value = first.value if isinstance(first, ast.Constant) else None
    return "_" + _NOT_ALLOWED_IN_NAME.sub("_", value) if isinstance(value, str) else ""
