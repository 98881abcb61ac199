"""Which executed lines prove that a function ran, or that a module was imported."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence

from flakehound.triage.python_source import DefinitionNode, FunctionNode, docstring_of

_ALWAYS_TRACED = (
    *(ast.Return, ast.Raise, ast.Assign, ast.AugAssign, ast.Delete, ast.Import, ast.ImportFrom),
    *(ast.For, ast.AsyncFor, ast.With, ast.AsyncWith, ast.Match, ast.Try),
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef),
)
_SIMPLE_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assign, ast.AugAssign, ast.Expr)


def body_lines(function: FunctionNode) -> range:
    """Lines that only a call executes; empty if a call may execute no line that a tracer sees."""
    statements = function.body[len(docstring_of(function)) :]
    if not any(_leaves_a_trace(statement) for statement in statements):
        return range(0)
    first = min(_first_line(statement) for statement in statements)
    if first <= _last_header_line(function):
        return range(0)
    return range(first, _end(function) + 1)


def import_lines(tree: ast.Module) -> range:
    """Lines of one statement that every import executes and nothing else does; empty if there is none."""
    for statement in tree.body[len(docstring_of(tree)) :]:
        if isinstance(statement, DefinitionNode):
            return range(_first_line(statement), statement.lineno + 1)
        if isinstance(statement, _SIMPLE_STATEMENTS) and _leaves_a_trace(statement) and not _runs_later(statement):
            return range(statement.lineno, _end(statement) + 1)
    return range(0)


def _leaves_a_trace(statement: ast.stmt) -> bool:
    """Whether a line tracer sees the statement even after Python's optimisations."""
    if isinstance(statement, ast.If | ast.While):
        return not _is_constant(statement.test)
    if isinstance(statement, ast.Assert):
        return __debug__ and not _is_constant(statement.test)  # python -O, which a child inherits, drops it
    if isinstance(statement, ast.Expr):
        return not isinstance(statement.value, ast.Constant)
    if isinstance(statement, ast.AnnAssign):
        return statement.value is not None
    return isinstance(statement, _ALWAYS_TRACED)


def _is_constant(test: ast.expr) -> bool:
    """Whether the compiler may evaluate the condition: `if 0:`, `while True:`, `if __debug__:`."""
    return all(not isinstance(node, ast.Name) or node.id == "__debug__" for node in ast.walk(test))


def _runs_later(statement: ast.stmt) -> bool:
    return any(isinstance(node, ast.Lambda | ast.GeneratorExp) for node in ast.walk(statement))


def _last_header_line(function: FunctionNode) -> int:
    parts: Iterable[ast.AST] = (
        *function.decorator_list,
        *ast.walk(function.args),
        *([function.returns] if function.returns else []),
        *getattr(function, "type_params", []),
    )
    return max([function.lineno, *(_end(part) for part in parts)])


def _first_line(statement: ast.stmt) -> int:
    decorators: Sequence[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(decorator.lineno for decorator in decorators)])


def _end(node: ast.AST) -> int:
    end: int = getattr(node, "end_lineno", 0)
    return end
