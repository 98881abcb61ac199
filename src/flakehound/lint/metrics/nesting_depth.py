"""How deep the statements of a test are nested."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def ast_depth(body: Sequence[ast.stmt]) -> int:
    """The depth of nested statements; 1 for a body without compound statements."""
    depth, level = 0, list(body)
    while level:
        depth += 1
        level = [inner for statement in level for inner in _inner_statements(statement)]
    return depth


def _inner_statements(statement: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, ())
    # Handlers and cases are not statements, but their bodies are as deep as those of other clauses.
    for name in ("handlers", "cases"):
        for clause in getattr(statement, name, ()):
            yield from clause.body
