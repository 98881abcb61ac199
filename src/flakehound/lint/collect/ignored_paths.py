"""The paths that a `conftest.py` excludes from collection with literal lists."""

from __future__ import annotations

import ast

from flakehound.lint.source.definitions import string_literals
from flakehound.lint.source.modules import Module


def literal_list(module: Module, name: str) -> tuple[str, ...]:
    """The strings that the file's top level puts into a list: `collect_ignore`, `collect_ignore_glob`."""
    strings: list[str] = []
    for statement in module.tree.body:
        if isinstance(statement, ast.Assign) and any(_is_name(target, name) for target in statement.targets):
            strings = string_literals(statement.value)
        elif isinstance(statement, ast.AugAssign) and _is_name(statement.target, name):
            strings += string_literals(statement.value)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            strings += _strings_added_by(statement.value, name)
    return tuple(strings)


def _is_name(target: ast.expr, name: str) -> bool:
    return isinstance(target, ast.Name) and target.id == name


def _strings_added_by(call: ast.Call, name: str) -> list[str]:
    adds = isinstance(call.func, ast.Attribute) and call.func.attr in ("append", "extend")
    if not adds or not _is_name(call.func.value, name):  # type: ignore[attr-defined]
        return []
    return [text for argument in call.args for text in string_literals(argument)]
