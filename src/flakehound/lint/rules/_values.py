"""Questions about expressions that several rules ask."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator

from flakehound.lint.findings import Sign
from flakehound.lint.rules._context import Part
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.source.syntax_walk import nodes_of

_TEMPORARY = (
    "tmp_path", "tmpdir", "tmp_path_factory", "tmpdir_factory", "tempfile.", "tmp", "temp", "StringIO",
    "BytesIO", "io.", "fs", "pyfakefs", "runner.isolated_filesystem", "temp_dir", "tempdir", "testdir", "pytester",
)  # fmt: skip
_TEMPORARY_WORD = re.compile(r"tmp|temp_?(dir|path|file|folder)|temporary|scratch|sandbox", re.I)


def text_of(node: ast.AST | None) -> str | None:
    """The text of a string literal, an f-string's fixed parts joined; None for anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(one) or "{}" for one in node.values)
    return None


def number_of(node: ast.AST | None) -> float | None:
    """The value of a number literal, a sign allowed."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = number_of(node.operand)
        return None if inner is None else -inner
    if isinstance(node, ast.Constant) and isinstance(node.value, int | float) and not isinstance(node.value, bool):
        return float(node.value)
    return None


def texts_in(part: Part, node: ast.expr) -> Iterator[str]:
    """String literals that an expression is made of, bindings followed once."""
    for one in nodes_of(part.sights.value_of(node)):
        if isinstance(one, ast.Name):
            yield from filter(None, [text_of(part.sights.value_of(one))])
        elif isinstance(one, ast.Constant) and isinstance(one.value, str):
            yield one.value


def is_temporary(part: Part, node: ast.expr) -> bool:
    """Whether a path comes from a temporary folder or is no file at all."""
    roots = part.sights.roots_of(node)
    return any(root.startswith(_TEMPORARY) or _TEMPORARY_WORD.search(root.rpartition(".")[2]) for root in roots)


def is_beside_the_code(part: Part, node: ast.expr) -> bool:
    """Whether a path starts at the source file itself."""
    return not part.sights.roots_of(node).isdisjoint({"__file__", "pkg_resources", "importlib.resources"})


def matching(part: Part, names: Iterable[str], beginnings: tuple[str, ...] = ()) -> Iterator[Call]:
    """Calls of functions with these full names, or whose full names begin so."""
    wanted = names if isinstance(names, frozenset | set | dict) else frozenset(names)
    for call in part.sights.calls:
        if call.name in wanted or (beginnings and call.name.startswith(beginnings)):
            yield call


def told(call: Call, message: str) -> Sign:
    """A sign about a call; {} in the message is its name."""
    return Sign(call.node, message.format(shown(call)))


def shown(call: Call) -> str:
    """A call as a reader would write it."""
    return call.name.replace("(_)", "(...)") + "()"
