"""A variable of a module is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign

MUTATING_METHODS = frozenset(
    {
        "add",
        "append",
        "appendleft",
        "clear",
        "discard",
        "extend",
        "insert",
        "pop",
        "popitem",
        "push",
        "put",
        "remove",
        "reverse",
        "setdefault",
        "sort",
        "update",
        "write",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for target, statement in function.facts.assignments:
        name = _module_variable(function, target)
        if name:
            yield Sign(statement, f"{name}, a variable of the module, is changed")
    for node, name, method in _method_calls(function):
        if method in MUTATING_METHODS and _is_shared(function, name):
            yield Sign(node, f"{name}, a variable of the module, is changed by {method}()")


def _method_calls(function: ReachedFunction) -> Iterator[tuple[ast.Call, str, str]]:
    for call in function.facts.calls:
        callee = call.node.func
        if isinstance(callee, ast.Attribute) and isinstance(callee.value, ast.Name):
            yield call.node, callee.value.id, callee.attr


def _module_variable(function: ReachedFunction, target: ast.expr) -> str | None:
    if isinstance(target, ast.Name):
        return target.id if target.id in function.facts.globals else None
    if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Name):
        return target.value.id if _is_shared(function, target.value.id) else None
    return None


def _is_shared(function: ReachedFunction, name: str) -> bool:
    is_local = name in function.facts.parameters or (
        name in function.facts.bindings and name not in function.facts.globals
    )
    return not is_local and name in function.module.bindings


RULE = LintRule(
    id="FH906",
    name="module-state",
    cause=Cause.TEST_ORDER,
    title="A variable of a module is changed",
    why="What one test leaves in it, the next one finds; each order of tests gives another result.",
    fix="Make the variable a fixture, or restore it with `monkeypatch`.",
    bad="SEEN = []\n\ndef test_add():\n    SEEN.append(1)\n    assert len(SEEN) == 1\n",
    good="def test_add():\n    seen = []\n    seen.append(1)\n    assert len(seen) == 1\n",
    check=for_lasting_changes(_find),
)
