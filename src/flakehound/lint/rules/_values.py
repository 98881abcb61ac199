"""Values and calls in a function that several rules look for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.source.syntax_walk import nodes_of

_TEMPORARY = (
    "tmp_path", "tmpdir", "tmp_path_factory", "tmpdir_factory", "tempfile.", "tmp", "temp", "StringIO",
    "BytesIO", "io.", "fs", "pyfakefs", "runner.isolated_filesystem", "temp_dir", "tempdir", "testdir", "pytester",
)  # fmt: skip
_TEMPORARY_WORD = re.compile(r"tmp|temp_?(dir|path|file|folder)|temporary|scratch|sandbox", re.I)


def string_value(node: ast.AST | None) -> str | None:
    """The text of a string literal, an f-string's fixed parts joined; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(string_value(one) or "{}" for one in node.values)
    return None


def number_value(node: ast.AST | None) -> float | None:
    """The value of a number literal, a sign allowed."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_value(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def strings_in(function: ReachedFunction, node: ast.expr) -> Iterator[str]:
    """String literals that an expression is made of, bindings followed once."""
    for one in nodes_of(function.facts.value_of(node)):
        if isinstance(one, ast.Name):
            yield from filter(None, [string_value(function.facts.value_of(one))])
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def is_temporary_path(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether a path comes from a temporary folder or is not a file."""
    names = function.facts.names_in(node)
    return any(name.startswith(_TEMPORARY) or _TEMPORARY_WORD.search(name.rpartition(".")[2]) for name in names)


def is_next_to_source(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether a path starts at the source file itself."""
    return not function.facts.names_in(node).isdisjoint({"__file__", "pkg_resources", "importlib.resources"})


def calls_of(function: ReachedFunction, names: Iterable[str], prefixes: tuple[str, ...] = ()) -> Iterator[Call]:
    """Calls of functions with these full names, or whose full names begin so."""
    wanted = names if isinstance(names, frozenset | set | dict) else frozenset(names)
    for call in function.facts.calls:
        if call.name in wanted or (prefixes and call.name.startswith(prefixes)):
            yield call
