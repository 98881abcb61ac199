"""An attribute of a class is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules.module_state import MUTATING_METHODS
from flakehound.lint.source.syntax_walk import nodes_of

_ONCE = frozenset(("setUpClass", "setup_class", "tearDownClass", "teardown_class", "__init_subclass__"))


def _find(function: ReachedFunction) -> Iterator[Sign]:
    # In a plain function, or in a class within it, `cls` and `self` are somebody else's.
    if function.name in _ONCE or function.owner is None or function.facts.parameters.isdisjoint({"self", "cls"}):
        return
    for target, statement in function.facts.assignments:
        if _is_of_class(function, target):
            yield Sign(statement, f"{ast.unparse(target)} belongs to the class, and so to all its tests")
    shared = _mutable_attributes(function.owner)
    for node, name in _changed(function) if shared else ():
        if name in shared - _own_attributes(function):
            yield Sign(node, f"{name} belongs to the class, and is changed for all its tests")


def _is_of_class(function: ReachedFunction, target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute):
        return False
    owner = target.value
    if isinstance(owner, ast.Name):
        return owner.id == "cls" or (function.owner is not None and owner.id == function.owner.name)
    return ast.unparse(owner) in ("self.__class__", "type(self)")


def _mutable_attributes(owner: ast.ClassDef | None) -> set[str]:
    body = owner.body if owner else []
    return {
        target.id
        for one in body
        if isinstance(one, ast.Assign) and isinstance(one.value, ast.List | ast.Dict | ast.Set | ast.Call)
        for target in one.targets
        if isinstance(target, ast.Name)
    }


def _own_attributes(function: ReachedFunction) -> set[str]:
    methods = [one for one in (function.owner.body if function.owner else []) if isinstance(one, ast.FunctionDef)]
    setups = [one for one in methods if one.name in ("setUp", "setup_method", "setup", "__init__")]
    nodes = [node for method in setups for node in nodes_of(method)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


def _changed(function: ReachedFunction) -> Iterator[tuple[ast.AST, str]]:
    for call in function.facts.calls:
        callee = call.node.func
        if isinstance(callee, ast.Attribute) and callee.attr in MUTATING_METHODS and _is_selfs(callee.value):
            yield call.node, callee.value.attr  # type: ignore[attr-defined]
    for target, statement in function.facts.assignments:
        if isinstance(target, ast.Subscript) and _is_selfs(target.value):
            yield statement, target.value.attr  # type: ignore[attr-defined]


def _is_selfs(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    )


RULE = LintRule(
    id="FH907",
    name="class-state",
    cause=Cause.TEST_ORDER,
    title="An attribute of a class is changed",
    why="All tests of the class share it: pytest and unittest make a new object per test, but not a new class.",
    fix="Set it in `setUp` or in a fixture of function scope.",
    bad="class TestCart:\n    items = []\n\n    def test_add(self):\n        self.items.append(1)\n  "
    "      assert len(self.items) == 1\n",
    good="class TestCart:\n    def setup_method(self):\n        self.items = []\n\n    def test_add(self):\n"
    "        self.items.append(1)\n        assert len(self.items) == 1\n",
    check=lasting_change(_find),
)
