"""An attribute of a class is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules.module_state import MUTATING_METHODS
from flakehound.lint.source.syntax_walk import nodes_of

_CLASS_SETUPS = frozenset({"__init_subclass__", "setUpClass", "setup_class", "tearDownClass", "teardown_class"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    # In a function outside of classes, and in a class inside it, `cls` and `self` are not those of the test.
    if (
        function.name in _CLASS_SETUPS
        or function.owner is None
        or function.facts.parameters.isdisjoint({"self", "cls"})
    ):
        return
    for target, statement in function.facts.assignments:
        if _is_class_attribute(function, target):
            message = f"{ast.unparse(target)} belongs to the class, and so to all its tests"
            yield Sign(statement, message, _why_weak(function, statement))
    shared = _mutable_attributes(function.owner)
    for node, name in _changes_of_self_attributes(function) if shared else ():
        if name in shared - _attributes_set_for_each_test(function):
            yield Sign(
                node, f"{name} belongs to the class, and is changed for all its tests", _why_weak(function, node)
            )


def _why_weak(function: ReachedFunction, node: ast.AST) -> str:
    if isinstance(node, ast.AugAssign):
        return "it counts objects"
    if "classmethod" in function.facts.decorators or function.is_fixture:
        return "each test may set it anew"
    return "production code may keep it as a cache" if function.is_production else ""


def _is_class_attribute(function: ReachedFunction, target: ast.expr) -> bool:
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
        for statement in body
        if isinstance(statement, ast.Assign)
        and isinstance(statement.value, ast.List | ast.Dict | ast.Set | ast.Call)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }


def _attributes_set_for_each_test(function: ReachedFunction) -> set[str]:
    body = function.owner.body if function.owner else []
    methods = [node for node in body if isinstance(node, ast.FunctionDef)]
    setups = [method for method in methods if method.name in ("setUp", "setup_method", "setup", "__init__")]
    nodes = [node for method in setups for node in nodes_of(method)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


def _changes_of_self_attributes(function: ReachedFunction) -> Iterator[tuple[ast.AST, str]]:
    for call in function.facts.calls:
        callee = call.node.func
        if (
            isinstance(callee, ast.Attribute)
            and callee.attr in MUTATING_METHODS
            and _is_self_attribute(callee.value)
        ):
            yield call.node, callee.value.attr  # type: ignore[attr-defined]
    for target, statement in function.facts.assignments:
        if isinstance(target, ast.Subscript) and _is_self_attribute(target.value):
            yield statement, target.value.attr  # type: ignore[attr-defined]


def _is_self_attribute(node: ast.expr) -> bool:
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
    check=for_lasting_changes(_find),
)
