"""Values and calls in a function that several rules look for."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from math import inf

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import MAX_BINDINGS_FOLLOWED, Call
from flakehound.lint.source.syntax_walk import nodes_of

_TEMPORARY_PREFIXES = (
    "BytesIO",
    "StringIO",
    "fs",
    "io.",
    "pyfakefs",
    "pytester",
    "runner.isolated_filesystem",
    "temp",
    "temp_dir",
    "tempdir",
    "tempfile.",
    "testdir",
    "tmp",
    "tmp_path",
    "tmp_path_factory",
    "tmpdir",
    "tmpdir_factory",
)
_PATH_CLASSES = frozenset({"Path", "PosixPath", "PurePath", "abspath", "join", "joinpath", "normpath", "str"})
_TEMPORARY_WORD = re.compile(r"tmp|temp_?(dir|path|file|folder)|temporary|scratch|sandbox", re.I)


def string_value(node: ast.AST | None) -> str | None:
    """The text of a string literal, or of an f-string with {} for its fields; None for other nodes."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(string_value(part) or "{}" for part in node.values)
    return None


def number_value(node: ast.AST | None) -> float | None:
    """The value of a number literal, also with a minus sign; None for other nodes, infinity if it is too large."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_value(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        try:
            return float(node.value)
        except OverflowError:  # an integer of hundreds of digits, as in tests of sympy
            return inf
    return None


def strings_in(function: ReachedFunction, node: ast.expr) -> Iterator[str]:
    """The string literals in an expression and in the values of its variables."""
    for part in nodes_of(function.facts.value_of(node)):
        if isinstance(part, ast.Name):
            yield from filter(None, [string_value(function.facts.value_of(part))])
        elif isinstance(part, ast.Constant) and isinstance(part.value, str):
            yield part.value


def is_temporary_path(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether a path is in a temporary folder, or is no file at all."""
    names = function.facts.names_in(node)
    return any(
        name.startswith(_TEMPORARY_PREFIXES) or _TEMPORARY_WORD.search(name.rpartition(".")[2]) for name in names
    )


def starts_with_text(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether a path begins with a string literal, so no argument or fixture chooses its folder."""
    node = function.facts.value_of(node)
    for _ in range(MAX_BINDINGS_FOLLOWED):  # `path = str(path)` has no end
        if isinstance(node, ast.BinOp):
            node = function.facts.value_of(node.left)
        elif isinstance(node, ast.Call) and _last_name(node.func) in _PATH_CLASSES and node.args:
            node = function.facts.value_of(node.args[0])
        elif isinstance(node, ast.JoinedStr):
            return bool(node.values) and isinstance(node.values[0], ast.Constant)
        else:
            return isinstance(node, ast.Constant) and isinstance(node.value, str)
    return False


def _last_name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else getattr(node, "attr", "")


def is_next_to_source(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether a path is built from the path of the source file."""
    return not function.facts.names_in(node).isdisjoint({"__file__", "pkg_resources", "importlib.resources"})


def calls_of(function: ReachedFunction, names: Iterable[str], prefixes: tuple[str, ...] = ()) -> Iterator[Call]:
    """Calls of functions with these full names, or with names that start with a prefix."""
    name_set = names if isinstance(names, frozenset | set | dict) else frozenset(names)
    for call in function.facts.calls:
        if call.name in name_set or (prefixes and call.name.startswith(prefixes)):
            yield call
