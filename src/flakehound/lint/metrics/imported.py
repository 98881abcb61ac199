"""What the imports of a file bind: local name -> full dotted name."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Mapping, Sequence


def imported_names(body: Iterable[ast.stmt]) -> dict[str, str]:
    """The names that the imports among some statements bind, those under `if`, `try` and `with` too.

    A relative import keeps its dots: `from .cart import Cart` binds `Cart` to ".cart.Cart".
    """
    found: dict[str, str] = {}
    for statement in body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            found.update(names_bound(statement))
        else:
            found.update(imported_names(_nested(statement)))
    return found


def names_bound(statement: ast.Import | ast.ImportFrom) -> dict[str, str]:
    """The names one import statement binds."""
    if isinstance(statement, ast.ImportFrom):
        module = "." * statement.level + (statement.module or "")
        return {one.asname or one.name: _joined(module, one.name) for one in statement.names}
    return {one.asname or _head(one.name): one.name if one.asname else _head(one.name) for one in statement.names}


def full_name(written: str, imports: Mapping[str, str]) -> str:
    """A dotted name as written, its first part replaced by what an import bound it to."""
    head, dot, rest = written.partition(".")
    return f"{imports.get(head, head)}{dot}{rest}"


def _joined(module: str, name: str) -> str:
    return f"{module}{name}" if module.endswith(".") or not module else f"{module}.{name}"


def _head(name: str) -> str:
    return name.partition(".")[0]


def _nested(statement: ast.stmt) -> Sequence[ast.stmt]:
    if not isinstance(statement, ast.If | ast.Try | ast.With):
        return ()
    orelse: list[ast.stmt] = getattr(statement, "orelse", [])
    handlers = [one for handler in getattr(statement, "handlers", ()) for one in handler.body]
    return [*statement.body, *orelse, *handlers]
