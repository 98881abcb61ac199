"""Parse a source file, or say why it cannot be parsed."""

from __future__ import annotations

import ast
import io
import tokenize
import warnings
from dataclasses import dataclass

from flakehound.lint.source.syntax_walk import is_deeper_than

# A visitor takes up to three frames per level, and Python allows a thousand.
MAX_TREE_DEPTH = 250
_PARSE_ERRORS = (SyntaxError, ValueError, LookupError, RecursionError, MemoryError, OverflowError)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Module:
    """A parsed source file; each file is parsed once, so modules are compared by identity."""

    path: str  # relative to pytest's rootdir, with forward slashes
    tree: ast.Module
    text: str  # line ends are "\n", also where the file has others
    lines: tuple[str, ...]  # line n of the syntax tree is lines[n - 1]


@dataclass(frozen=True, slots=True, kw_only=True)
class Unparsable:
    """A source file that does not parse; it is reported and skipped."""

    path: str
    line: int | None  # None: the error has no line, such as an unknown encoding
    reason: str


def parse_source(path: str, content: bytes) -> Module | Unparsable:
    """Parse a file by the grammar of the running Python.

    Never raises. A tree too deep for recursive visitors counts as unparsable.
    """
    try:
        text = source_text(content)
        tree = _parse(text, path)
    except _PARSE_ERRORS as error:
        return Unparsable(path=path, line=_line_of(error), reason=_reason(error))
    lines = tuple(text.split("\n"))
    if is_deeper_than(tree, lines, MAX_TREE_DEPTH):
        return Unparsable(path=path, line=None, reason=f"nested more than {MAX_TREE_DEPTH} levels deep")
    return Module(path=path, tree=tree, text=text, lines=lines)


def source_text(content: bytes) -> str:
    """Decode a source file by its declared encoding (PEP 263), without byte order mark, with "\\n" as line end."""
    encoding, _lines = tokenize.detect_encoding(io.BytesIO(content).readline)
    text = content.decode(encoding)
    return text.replace("\r\n", "\n").replace("\r", "\n") if "\r" in text else text


def _parse(text: str, path: str) -> ast.Module:
    if "\0" in text:
        # Python versions raise different errors for it; pytest cannot import such a file with any of them.
        raise ValueError("source code cannot contain null bytes")
    with warnings.catch_warnings():
        # Where warnings are errors, an invalid escape would make the whole file unparsable.
        warnings.simplefilter("ignore")
        return ast.parse(text, filename=path)


def _line_of(error: BaseException) -> int | None:
    return (error.lineno or None) if isinstance(error, SyntaxError) else None


def _reason(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return error.msg or "invalid syntax"
    if isinstance(error, RecursionError | MemoryError):
        return "nested too deep to parse"
    return str(error) or type(error).__name__
