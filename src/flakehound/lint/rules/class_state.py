"""An attribute of a class is changed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part
from flakehound.lint.rules._lasting import lasting
from flakehound.lint.rules.module_state import MUTATORS
from flakehound.lint.source.syntax_walk import nodes_of

_ONCE = frozenset(("setUpClass", "setup_class", "tearDownClass", "teardown_class", "__init_subclass__"))


def _look(part: Part) -> Iterator[Sign]:
    # In a plain function, or in a class within it, `cls` and `self` are somebody else's.
    if part.name in _ONCE or part.owner is None or part.sights.parameters.isdisjoint({"self", "cls"}):
        return
    for target, statement in part.sights.assigned:
        if _is_of_class(part, target):
            yield Sign(statement, f"{ast.unparse(target)} belongs to the class, and so to all its tests")
    shared = _mutable_attributes(part.owner)
    for node, name in _changed(part) if shared else ():
        if name in shared - _own_attributes(part):
            yield Sign(node, f"{name} belongs to the class, and is changed for all its tests")


def _is_of_class(part: Part, target: ast.expr) -> bool:
    if isinstance(target, ast.Subscript):
        target = target.value
    if not isinstance(target, ast.Attribute):
        return False
    owner = target.value
    if isinstance(owner, ast.Name):
        return owner.id == "cls" or (part.owner is not None and owner.id == part.owner.name)
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


def _own_attributes(part: Part) -> set[str]:
    methods = [one for one in (part.owner.body if part.owner else []) if isinstance(one, ast.FunctionDef)]
    setups = [one for one in methods if one.name in ("setUp", "setup_method", "setup", "__init__")]
    nodes = [node for method in setups for node in nodes_of(method)]
    return {node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}


def _changed(part: Part) -> Iterator[tuple[ast.AST, str]]:
    for call in part.sights.calls:
        function = call.node.func
        if isinstance(function, ast.Attribute) and function.attr in MUTATORS and _is_selfs(function.value):
            yield call.node, function.value.attr  # type: ignore[attr-defined]
    for target, statement in part.sights.assigned:
        if isinstance(target, ast.Subscript) and _is_selfs(target.value):
            yield statement, target.value.attr  # type: ignore[attr-defined]


def _is_selfs(node: ast.expr) -> bool:
    return (
        isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls")
    )


RULE = Rule(
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
    check=lasting(_look),
)
