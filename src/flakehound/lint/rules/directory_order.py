"""A test relies on the order of a folder's entries."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import names_bound_to
from flakehound.lint.rules._checks import in_direct_calls
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules.unordered_as_ordered import is_order_irrelevant
from flakehound.lint.source.syntax_walk import nodes_of

_LISTING_FUNCTIONS = frozenset({"glob.glob", "glob.iglob", "os.listdir", "os.scandir", "os.walk"})
_LISTING_METHODS = frozenset({"iterdir", "rglob"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if _lists_folder(call) and not is_order_irrelevant(call.parents) and not _is_sorted_later(function, call):
            weak = "" if _decides(function, call) else "the order may not matter"
            yield sign_for(call, "{} gives entries in whatever order the file system has them", weak)


def _decides(function: ReachedFunction, call: Call) -> bool:
    """Whether the entries are compared with several in an order."""
    names = set(names_bound_to(function, call.node))
    for comparison in function.facts.comparisons:
        if comparison.relation == "equal":
            for side, other in (comparison.sides, comparison.sides[::-1]):
                if _is_about(side, call, names) and isinstance(other, ast.List) and len(other.elts) > 1:
                    return True
    return False


def _is_about(side: ast.expr, call: Call, names: set[str]) -> bool:
    if isinstance(side, ast.Tuple):
        return False
    return any(part is call.node or (isinstance(part, ast.Name) and part.id in names) for part in nodes_of(side))


def _lists_folder(call: Call) -> bool:
    is_glob_method = call.short_name == "glob" and "." in call.name
    return call.name in _LISTING_FUNCTIONS or call.short_name in _LISTING_METHODS or is_glob_method


def _is_sorted_later(function: ReachedFunction, call: Call) -> bool:
    parent = call.parents[0] if call.parents else None
    if isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Name):
        name = parent.targets[0].id
        return any(_makes_order_irrelevant(later_call, name) for later_call in function.facts.calls)
    # A test that only loops over entries does not compare their order.
    return isinstance(parent, ast.For) and not function.is_production


def _makes_order_irrelevant(call: Call, name: str) -> bool:
    callee = call.node.func
    if isinstance(callee, ast.Attribute) and callee.attr == "sort":
        return isinstance(callee.value, ast.Name) and callee.value.id == name
    first = call.argument(0)
    return (
        call.short_name in ("sorted", "set", "len", "Counter") and isinstance(first, ast.Name) and first.id == name
    )


RULE = LintRule(
    id="FH602",
    name="directory-order",
    cause=Cause.UNORDERED_COLLECTION,
    title="A folder's entries are used as if they had an order",
    why="`listdir`, `glob` and `iterdir` list entries in the order of the file system, which differs between "
    "machines and runs.",
    fix="Wrap the call in `sorted(...)`, or compare sets.",
    bad="import os\n\ndef test_files(tmp_path):\n    assert os.listdir(tmp_path) == ['a', 'b']\n",
    good="import os\n\ndef test_files(tmp_path):\n    assert sorted(os.listdir(tmp_path)) == ['a', 'b']\n",
    check=in_direct_calls(_find),
)
