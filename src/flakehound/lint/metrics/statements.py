"""How deep the statements of a test are nested."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence


def ast_depth(body: Sequence[ast.stmt]) -> int:
    """The most statements that lie inside one another; 1 for a body without compound statements."""
    depth, level = 0, list(body)
    while level:
        depth += 1
        level = [inner for statement in level for inner in _inside(statement)]
    return depth


def _inside(statement: ast.stmt) -> Iterator[ast.stmt]:
    for name in ("body", "orelse", "finalbody"):
        yield from getattr(statement, name, ())
    # Handlers and cases are no statements, but their bodies are as deep as the other clauses.
    for name in ("handlers", "cases"):
        for clause in getattr(statement, name, ()):
            yield from clause.body
