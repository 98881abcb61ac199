"""A fixture that several tests share is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import Hit
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value
from flakehound.lint.rules.module_state import MUTATING_METHODS

_SHARED_SCOPES = frozenset({"class", "module", "package", "session"})


def _check(context: CaseContext) -> Iterator[Hit]:
    fixtures = [function for function in context.functions if function.is_fixture]
    shared_fixtures = {fixture.name: scope for fixture in fixtures if (scope := _shared_scope(fixture.node))}
    if not shared_fixtures:
        return
    for function in context.test_code:
        for name in function.facts.parameters & shared_fixtures.keys() - function.facts.bindings.keys():
            for node in _changes(function, name):
                yield (
                    function,
                    Sign(
                        node,
                        f"changes {name}, a fixture of {shared_fixtures[name]} scope that other tests get too",
                    ),
                )


def _shared_scope(fixture: ast.AST) -> str | None:
    for decorator in getattr(fixture, "decorator_list", []):
        for keyword in getattr(decorator, "keywords", []):
            if keyword.arg == "scope" and string_value(keyword.value) in _SHARED_SCOPES:
                return string_value(keyword.value)
    return None


def _changes(function: ReachedFunction, name: str) -> Iterator[ast.AST]:
    for target, statement in function.facts.assignments:
        if isinstance(target, ast.Attribute | ast.Subscript) and _root_name(target) == name:
            yield statement
    for call in function.facts.calls:
        callee = call.node.func
        if isinstance(callee, ast.Attribute) and callee.attr in MUTATING_METHODS and _root_name(callee) == name:
            yield call.node


def _root_name(node: ast.expr) -> str:
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


RULE = LintRule(
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
