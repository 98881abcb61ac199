"""The order of a folder's entries is taken for granted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, at_hand
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import told
from flakehound.lint.rules.unordered_as_ordered import is_put_in_order

_NAMES = frozenset(("os.listdir", "os.scandir", "glob.glob", "glob.iglob", "os.walk"))
_METHODS = frozenset(("iterdir", "rglob"))


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        listed = call.name in _NAMES or call.last in _METHODS or (call.last == "glob" and "." in call.name)
        if listed and not is_put_in_order(call.parents) and not _is_sorted_later(part, call):
            yield told(call, "{} gives entries in whatever order the file system has them")


def _is_sorted_later(part: Part, call: Call) -> bool:
    holder = call.parents[0] if call.parents else None
    if isinstance(holder, ast.Assign) and isinstance(holder.targets[0], ast.Name):
        name = holder.targets[0].id
        return any(_settles(one, name) for one in part.sights.calls)
    # A loop over entries alone compares nothing.
    return isinstance(holder, ast.For) and not part.production


def _settles(call: Call, name: str) -> bool:
    function = call.node.func
    if isinstance(function, ast.Attribute) and function.attr == "sort":
        return isinstance(function.value, ast.Name) and function.value.id == name
    first = call.argument(0)
    return call.last in ("sorted", "set", "len", "Counter") and isinstance(first, ast.Name) and first.id == name


RULE = Rule(
    id="FH602",
    name="directory-order",
    cause=Cause.UNORDERED_COLLECTION,
    title="A folder's entries are used as if they had an order",
    why="`listdir`, `glob` and `iterdir` give entries as the file system keeps them, which differs "
    "between machines and runs.",
    fix="Wrap the call in `sorted(...)`, or compare sets.",
    bad="import os\n\ndef test_files(tmp_path):\n    assert os.listdir(tmp_path) == ['a', 'b']\n",
    good="import os\n\ndef test_files(tmp_path):\n    assert sorted(os.listdir(tmp_path)) == ['a', 'b']\n",
    check=at_hand(_look),
)
