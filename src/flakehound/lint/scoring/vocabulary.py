"""Common words in the names that a test's code uses; they hint at what the test works with.

`path_of_file.readAll` has the words path, of, file, read and all. Texts and comments do not count.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from flakehound.core.vocabulary import WORDS, column_of
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.source.syntax_walk import nodes_of

_NAMED = {
    ast.Name: "id", ast.Attribute: "attr", ast.arg: "arg", ast.keyword: "arg",
    ast.FunctionDef: "name", ast.AsyncFunctionDef: "name", ast.ClassDef: "name",
}  # fmt: skip
_IN_NAME = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


def words_of(functions: Sequence[ReachedFunction]) -> list[str]:
    """Which of the words the functions use, in the order of `WORDS`."""
    found = all_words_of(functions)
    return [word for word in WORDS if word in found]


def all_words_of(functions: Sequence[ReachedFunction]) -> frozenset[str]:
    """Whatever words the functions use."""
    return frozenset[str]().union(*(function.compute_once(_words_in) for function in functions))


def word_columns(words: Iterable[str]) -> dict[str, float]:
    """A column for every word: whether it is used."""
    used = frozenset(words)
    return {column_of(word): float(word in used) for word in WORDS}


@lru_cache(maxsize=100_000)
def words_in_name(name: str) -> frozenset[str]:
    """All words of a name, in small letters; single letters are none."""
    return frozenset(word.lower() for word in _IN_NAME.findall(name) if len(word) > 1)


def _words_in(function: ReachedFunction) -> frozenset[str]:
    return frozenset[str]().union(*map(words_in_name, _names_in(function.node)))


def _names_in(function: ast.AST) -> set[str]:
    named = ((node, _NAMED.get(node.__class__)) for node in nodes_of(function))
    found = {getattr(node, field) for node, field in named if field is not None}
    return {name for name in found if name is not None}  # `**rest` in a call has no name
