"""Split names into words, to see what a test's name says it tests."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_WORD = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_WORDS_FOR_TESTS = frozenset({"test", "tests", "testcase", "testing", "should", "spec", "case", "cases", "unit"})


def words_of(name: str) -> tuple[str, ...]:
    """The words of a name in lower case; the same for `HTTPServer` and `http_server`."""
    return tuple(word.lower() for word in _WORD.findall(name))


def subject_words(name: str) -> tuple[str, ...]:
    """The words of a test's name, without words such as "test" and "case" at either end."""
    words = list(words_of(name))
    while words and words[0] in _WORDS_FOR_TESTS:
        del words[0]
    while words and words[-1] in _WORDS_FOR_TESTS:
        del words[-1]
    return tuple(words)


def module_words(path: str) -> tuple[str, ...]:
    """The words of a file's name; of `__init__.py` those of its folder."""
    file = PurePosixPath(path)
    return words_of(file.parent.name if file.name == "__init__.py" else file.stem)


def starts_with(words: tuple[str, ...], start: tuple[str, ...]) -> bool:
    """Whether the words start with the words of `start`, which must not be empty."""
    return bool(start) and words[: len(start)] == start
