"""The everyday words that lint counts and its model learns from.

Decided by counting alone, whichever tests are flaky: words of three letters and more that at least 100 of the 254
projects use in their test code whose tests the default model learns from (`benchmarks/static_training.py --words
100`). Without "test", which all use.
"""

from __future__ import annotations

WORDS = (
    "all", "assert", "data", "dict", "equal", "error", "exception", "expected", "file", "format", "get", "init",
    "isinstance", "join", "len", "list", "name", "not", "open", "path", "pytest", "raises", "read", "result",
    "self", "set", "str", "type", "value", "with",
)  # fmt: skip
_COLUMN = "word_"


def column_of(word: str) -> str:
    """The name of the column that says whether a test uses the word."""
    return _COLUMN + word
