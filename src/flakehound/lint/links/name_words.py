"""Words in names: what a test's name says it tests."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_TESTING = frozenset({"test", "tests", "testcase", "testing", "should", "spec", "case", "cases", "unit"})


def words_of(name: str) -> tuple[str, ...]:
    """A name's words in small letters: `HTTPServer` and `http_server` have the same."""
    return tuple(word.lower() for word in _CAMEL.findall(name))


def subject_words(name: str) -> tuple[str, ...]:
    """A test's name without the words that only say that it is a test, at either end."""
    words = list(words_of(name))
    while words and words[0] in _TESTING:
        del words[0]
    while words and words[-1] in _TESTING:
        del words[-1]
    return tuple(words)


def module_words(path: str) -> tuple[str, ...]:
    """What a file is called; a package's `__init__.py` is called like its folder."""
    file = PurePosixPath(path)
    return words_of(file.parent.name if file.name == "__init__.py" else file.stem)


def starts_with(words: tuple[str, ...], start: tuple[str, ...]) -> bool:
    """Whether the words begin with others, of which there is at least one."""
    return bool(start) and words[: len(start)] == start
