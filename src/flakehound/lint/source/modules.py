"""One parsed source file, or why it could not be parsed."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass

from flakehound.lint.source.syntax_walk import is_nested_deeper

# A visitor takes up to three frames per level, and Python allows a thousand.
DEEPEST_TREE = 250
_FAULTS = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """A source file that parses; parsed once, handed round, compared by identity."""

    path: str  # relative to pytest's rootdir, with forward slashes
    tree: ast.Module
    text: str  # line ends are "\n" whatever the file has
    lines: tuple[str, ...]  # line n of the syntax tree is lines[n - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsable:
    """A source file that does not parse; it is reported and skipped."""

    path: str
    line: int | None  # None: the fault has no place, as with an unknown encoding
    reason: str


def parse_source(path: str, content: bytes) -> Module | Unparsable:
    """The file's syntax tree, by the grammar of the Python that runs us.

    Never raises, whatever the bytes are. A tree too deep for recursive visitors counts as unparsable.
    """
    try:
        text = source_text(content)
        tree = _tree(text, path)
    except _FAULTS as fault:
        return Unparsable(path=path, line=_line_of(fault), reason=_reason(fault))
    lines = tuple(text.split("\n"))
    if is_nested_deeper(tree, lines, DEEPEST_TREE):
        return Unparsable(path=path, line=None, reason=f"nested more than {DEEPEST_TREE} levels deep")
    return Module(path=path, tree=tree, text=text, lines=lines)


def source_text(content: bytes) -> str:
    """A source file's text: its own encoding (PEP 263), no byte order mark, all line ends a newline."""
    encoding, _lines = tokenize.detect_encoding(io.BytesIO(content).readline)
    text = content.decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _tree(text: str, path: str) -> ast.Module:
    if "\0" in text:
        # Which Pythons raise what for it differs; pytest cannot import such a file with any.
        raise ValueError("source code cannot contain null bytes")
    with warnings.catch_warnings():
        # An invalid escape is the user's own business; as an error it would hide the whole file.
        warnings.simplefilter("ignore")
        return ast.parse(text, filename=path)


def _line_of(fault: BaseException) -> int | None:
    return (fault.lineno or None) if isinstance(fault, SyntaxError) else None


def _reason(fault: BaseException) -> str:
    if isinstance(fault, SyntaxError):
        return fault.msg or "invalid syntax"
    if isinstance(fault, RecursionError | MemoryError):
        return "nested too deep to parse"
    return str(fault) or type(fault).__name__
