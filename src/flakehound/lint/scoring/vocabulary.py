"""Split the names that a function uses into words.

`path_of_file.readAll` has the words path, of, file, read and all. Strings and comments do not count.
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.source.syntax_walk import nodes_of

# Kind of node -> the field with its name.
_NAME_FIELDS = {
    ast.Name: "id",
    ast.Attribute: "attr",
    ast.arg: "arg",
    ast.keyword: "arg",
    ast.FunctionDef: "name",
    ast.AsyncFunctionDef: "name",
    ast.ClassDef: "name",
}
_WORD_IN_NAME = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+")


@lru_cache(maxsize=100_000)
def words_in_name(name: str) -> frozenset[str]:
    """All words of a name in lower case, without single letters."""
    return frozenset(word.lower() for word in _WORD_IN_NAME.findall(name) if len(word) > 1)


def words_in_function(function: ReachedFunction) -> frozenset[str]:
    """All words in the names that one function uses."""
    return frozenset[str]().union(*map(words_in_name, _names_in(function.node)))


def _names_in(function: ast.AST) -> set[str]:
    nodes_with_fields = ((node, _NAME_FIELDS.get(node.__class__)) for node in nodes_of(function))
    names = {getattr(node, field) for node, field in nodes_with_fields if field is not None}
    return {name for name in names if name is not None}  # `**rest` in a call has no name
