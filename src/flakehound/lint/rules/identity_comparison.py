"""Addresses, hashes and default texts of objects are compared."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Comparison
from flakehound.lint.rules._values import text_of
from flakehound.lint.rules.unordered_as_ordered import is_set

_ADDRESS = re.compile(r" at 0x[0-9a-f]{2}", re.I)


def _look(part: Part) -> Iterator[Sign]:
    for one in part.sights.comparisons:
        what = _volatile(part, one)
        if what and one.how != "is":
            yield Sign(one.node, f"compares {what}, which differs between processes")


def _volatile(part: Part, one: Comparison) -> str:
    calls = [_builtin(part.sights.value_of(side)) for side in one.sides]
    # `hash(a) == hash(b)` asks whether equal things have equal hashes, which is steady.
    if calls.count("hash") == 1 or (calls.count("id") == 1 and one.how == "less"):
        return "a hash" if "hash" in calls else "an address"
    for side in one.sides:
        if _builtin(side) in ("repr", "str") and isinstance(side, ast.Call) and is_set(part, side.args[0]):
            return "the text of a set"
        if _ADDRESS.search(text_of(side) or ""):
            return "the text of an object with its address"
    return ""


def _builtin(node: ast.expr) -> str:
    known = isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args
    return node.func.id if known and isinstance(node, ast.Call) and isinstance(node.func, ast.Name) else ""


RULE = Rule(
    id="FH604",
    name="identity-comparison",
    cause=Cause.UNORDERED_COLLECTION,
    title="id(), hash() or a default repr() is compared",
    why="Addresses and hashes of strings differ in every process, and an address is used again once "
    "its object is gone.",
    fix="Compare the values, or `is` the objects while both are alive.",
    bad="def test_key():\n    assert hash('key') == 4182\n",
    good="def test_key():\n    assert hash('key') == hash('k' + 'ey')\n",
    check=in_each(_look, production=False),
)
