"""A variable of a module is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part
from flakehound.lint.rules._lasting import lasting

MUTATORS = frozenset(("append", "extend", "insert", "add", "update", "pop", "popitem", "clear", "remove",
    "discard",
                      "setdefault", "sort", "reverse", "appendleft", "push", "put", "write"))  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    for target, statement in part.sights.assigned:
        name = _module_name(part, target)
        if name:
            yield Sign(statement, f"{name}, a variable of the module, is changed")
    for node, name, method in _method_calls(part):
        if method in MUTATORS and _is_shared(part, name):
            yield Sign(node, f"{name}, a variable of the module, is changed by {method}()")


def _method_calls(part: Part) -> Iterator[tuple[ast.Call, str, str]]:
    for call in part.sights.calls:
        function = call.node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name):
            yield call.node, function.value.id, function.attr


def _module_name(part: Part, target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id if target.id in part.sights.globals else None
    if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Name):
        return target.value.id if _is_shared(part, target.value.id) else None
    return None


def _is_shared(part: Part, name: str) -> bool:
    local = name in part.sights.parameters or (name in part.sights.bound and name not in part.sights.globals)
    return not local and name in part.surroundings.bound


RULE = Rule(
    id="FH906",
    name="module-state",
    cause=Cause.TEST_ORDER,
    title="A variable of a module is changed",
    why="What one test leaves in it, the next one finds; each order of tests gives another result.",
    fix="Make the variable a fixture, or restore it with `monkeypatch`.",
    bad="SEEN = []\n\ndef test_add():\n    SEEN.append(1)\n    assert len(SEEN) == 1\n",
    good="def test_add():\n    seen = []\n    seen.append(1)\n    assert len(seen) == 1\n",
    check=lasting(_look),
)
