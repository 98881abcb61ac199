"""The names that the imports of a file bind: local name -> full dotted name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence


def imported_names(body: Iterable[ast.stmt]) -> dict[str, str]:
    """The names that the imports among some statements bind, also those under `if`, `try` and `with`.

    A relative import keeps its dots: `from .cart import Cart` binds `Cart` to ".cart.Cart".
    """
    names: dict[str, str] = {}
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            names.update(names_bound_by(statement))
        else:
            names.update(imported_names(_nested_statements(statement)))
    return names


def names_bound_by(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """The names that one import statement binds."""
    if isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        return {alias.asname or alias.name: _dotted(module, alias.name) for alias in statement.names}
    return {
        alias.asname or _head(alias.name): alias.name if alias.asname else _head(alias.name)
        for alias in statement.names
    }


def resolve_alias(name: str, imports: Mapping[str, str]) -> str:
    """The full form of a dotted name, whose first part may be the local name of an import."""
    head, dot, rest = name.partition(".")
    return f"{imports.get(head, head)}{dot}{rest}"


def _dotted(module: str, name: str) -> str:
    return f"{module}{name}" if module.endswith(".") or not module else f"{module}.{name}"


def _head(name: str) -> str:
    return name.partition(".")[0]


def _nested_statements(statement: ast.stmt) -> Sequence[ast.stmt]:
    if not isinstance(statement, ast.If | ast.Try | ast.With):
        return ()
    orelse: list[ast.stmt] = getattr(statement, "orelse", [])
    handlers = [inner for handler in getattr(statement, "handlers", ()) for inner in handler.body]
    return [*statement.body, *orelse, *handlers]
