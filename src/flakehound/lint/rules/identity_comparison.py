"""Addresses, hashes or default representations of objects are compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import ValueComparison
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value
from flakehound.lint.rules.unordered_as_ordered import is_set

_ADDRESS = re.compile(r" at 0x[0-9a-f]{2}", re.I)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for comparison in function.facts.comparisons:
        volatile_value = _volatile_value(function, comparison)
        if volatile_value and comparison.relation != "is":
            yield Sign(comparison.node, f"compares {volatile_value}, which differs between processes")


def _volatile_value(function: ReachedFunction, comparison: ValueComparison) -> str:
    calls = [_called_name(function.facts.value_of(side)) for side in comparison.sides]
    # `hash(a) == hash(b)` gives the same result in every process.
    if calls.count("hash") == 1 or (calls.count("id") == 1 and comparison.relation == "less"):
        return "a hash" if "hash" in calls else "an address"
    for side in comparison.sides:
        if _called_name(side) in ("repr", "str") and isinstance(side, ast.Call) and is_set(function, side.args[0]):
            return "the text of a set"
        if _ADDRESS.search(string_value(side) or ""):
            return "the text of an object with its address"
    return ""


def _called_name(node: ast.expr) -> str:
    is_named_call = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    return node.func.id if is_named_call and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


RULE = LintRule(
    id="FH604",
    name="identity-comparison",
    cause=Cause.UNORDERED_COLLECTION,
    title="id(), hash() or a default repr() is compared",
    why="Addresses and hashes of strings differ in every process, and an address is reused after its object "
    "is freed.",
    fix="Compare the values, or compare the objects with `is` while both are alive.",
    bad="def test_key():\n    assert hash('key') == 4182\n",
    good="def test_key():\n    assert hash('key') == hash('k' + 'ey')\n",
    check=in_each_function(_find, in_production=False),
)
