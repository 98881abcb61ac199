"""A variable of a module is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
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


_METHODS_WITH_RESULT = frozenset({"pop", "popitem", "setdefault"})
_CONTAINERS = frozenset(
    {
        "Counter",
        "OrderedDict",
        "Queue",
        "WeakKeyDictionary",
        "WeakSet",
        "WeakValueDictionary",
        "defaultdict",
        "deque",
        "dict",
        "list",
        "set",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for target, statement in function.facts.assignments:
        name = _module_variable(function, target)
        if name:
            yield Sign(statement, f"{name}, a variable of the module, is changed", _why_weak(function))
    for call in function.facts.calls:
        callee = call.node.func
        if not isinstance(callee, ast.Attribute) or not isinstance(callee.value, ast.Name):
            continue
        name, method = callee.value.id, callee.attr
        if _is_shared(function, name) and _changes(call, method) and _is_container(function, name):
            yield Sign(
                call.node, f"{name}, a variable of the module, is changed by {method}()", _why_weak(function)
            )


def _why_weak(function: ReachedFunction) -> str:
    return "production code may keep it as a cache" if function.is_production else ""


def _changes(call: Call, method: str) -> bool:
    """Whether it changes the object it is called on: `insert()` of a table in SQLAlchemy returns a statement."""
    return method in MUTATING_METHODS and (call.is_statement or method in _METHODS_WITH_RESULT)


def _is_container(function: ReachedFunction, name: str) -> bool:
    value = function.module.bindings.get(name)
    if isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp):
        return True
    if not isinstance(value, ast.Call):
        return False
    called = value.func.id if isinstance(value.func, ast.Name) else getattr(value.func, "attr", "")
    return called in _CONTAINERS


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
