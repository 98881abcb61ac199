"""The common words of test code that lint counts and its model learns from.

They were chosen by frequency alone, without regard to which tests are flaky: all words of at least three letters
that at least 100 of the 254 training projects use in their test code, without "test", which all use
(`benchmarks/static_training.py --words 100`).
"""

from __future__ import annotations

WORDS = (
    "all", "assert", "data", "dict", "equal", "error", "exception", "expected", "file", "format", "get", "init",
    "isinstance", "join", "len", "list", "name", "not", "open", "path", "pytest", "raises", "read", "result",
    "self", "set", "str", "type", "value", "with",
)  # fmt: skip
_COLUMN_PREFIX = "word_"


def column_of(word: str) -> str:
    """The name of the column that says whether a test uses the word."""
    return _COLUMN_PREFIX + word
