"""A fixture that several tests share is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part
from flakehound.lint.rules._values import text_of
from flakehound.lint.rules.module_state import MUTATORS

_WIDE = frozenset(("session", "package", "module", "class"))


def _check(context: Context) -> Iterator[tuple[Part, Sign]]:
    wide = {part.name: scope for part in context.parts if part.fixture and (scope := _scope_of(part.function))}
    if not wide:
        return
    for part in context.own:
        for name in part.sights.parameters & wide.keys() - part.sights.bound.keys():
            for node in _changes(part, name):
                yield part, Sign(node, f"changes {name}, a fixture of {wide[name]} scope that other tests get too")


def _scope_of(function: ast.AST) -> str | None:
    for decorator in getattr(function, "decorator_list", []):
        for keyword in getattr(decorator, "keywords", []):
            if keyword.arg == "scope" and text_of(keyword.value) in _WIDE:
                return text_of(keyword.value)
    return None


def _changes(part: Part, name: str) -> Iterator[ast.AST]:
    for target, statement in part.sights.assigned:
        if isinstance(target, ast.Attribute | ast.Subscript) and _root(target) == name:
            yield statement
    for call in part.sights.calls:
        function = call.node.func
        if isinstance(function, ast.Attribute) and function.attr in MUTATORS and _root(function) == name:
            yield call.node


def _root(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


RULE = Rule(
    id="FH910",
    name="mutated-fixture",
    cause=Cause.TEST_ORDER,
    title="A shared fixture is changed",
    why="A fixture of session, module or class scope is one object for many tests; the next one gets it changed.",
    fix="Give the fixture function scope, or change a copy.",
    bad="import pytest\n\n@pytest.fixture(scope='session')\ndef cart():\n    return []\n\n"
    "def test_add(cart):\n    cart.append(1)\n    assert len(cart) == 1\n",
    good="import pytest\n\n@pytest.fixture\ndef cart():\n    return []\n\n"
    "def test_add(cart):\n    cart.append(1)\n    assert len(cart) == 1\n",
    check=_check,
)
