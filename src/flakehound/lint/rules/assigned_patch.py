"""An attribute of an imported module or class, or of an object's class, is replaced by assignment."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign

_WITH_OWN_RULES = ("logging.", "os.environ", "sys.")
_GONE_AFTER_REQUEST = ("flask.g.", "flask.request.", "flask.session.", "quart.g.", "quart.session.")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    counts: dict[str, int] = {}
    places: dict[str, ast.AST] = {}
    for target, node in (*function.facts.assignments, *_targets_of_setattr(function)):
        name = _imported_target(function, target)
        if name:
            counts[name] = counts.get(name, 0) + 1
            places.setdefault(name, node)
    for name, node in places.items():
        # Two assignments replace it and put it back.
        if counts[name] == 1:
            yield Sign(node, f"{name} is replaced and nothing puts it back")
    for target, node in function.facts.assignments:
        if isinstance(target, ast.Attribute) and _is_class_of_object(function, target.value):
            yield Sign(
                node, f"{ast.unparse(target)} is set for every object of the class, and nothing puts it back"
            )


def _is_class_of_object(function: ReachedFunction, node: ast.expr) -> bool:
    """Whether it is `type(x)`; not of a mock, which has its own class, or of `self`, which has its own rule."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or len(node.args) != 1:
        return False
    name = function.facts.dotted_name(node.args[0])
    return node.func.id == "type" and name not in ("self", "cls") and "mock" not in name.lower()


def _imported_target(function: ReachedFunction, target: ast.expr) -> str | None:
    if not isinstance(target, ast.Attribute):
        return None
    root: ast.expr = target
    while isinstance(root, ast.Attribute):
        root = root.value
    if (
        not isinstance(root, ast.Name)
        or root.id in function.facts.bindings
        or root.id in function.facts.parameters
    ):
        return None
    name = function.facts.dotted_name(target)
    return (
        name
        if root.id in function.facts.imports and not name.startswith(_WITH_OWN_RULES + _GONE_AFTER_REQUEST)
        else None
    )


def _targets_of_setattr(function: ReachedFunction) -> Iterator[tuple[ast.expr, ast.AST]]:
    for call in function.facts.calls:
        first, second = call.argument(0), call.argument(1)
        if call.name == "setattr" and first is not None and isinstance(second, ast.Constant):
            yield ast.Attribute(value=first, attr=str(second.value), ctx=ast.Store()), call.node


RULE = LintRule(
    id="FH904",
    name="assigned-patch",
    cause=Cause.TEST_ORDER,
    title="An imported name is replaced by assignment",
    why="The replacement stays for every test that follows in the process.",
    fix="`monkeypatch.setattr(...)` or `with mock.patch(...)`, which put it back.",
    bad="import shop\n\ndef test_price():\n    shop.rate = lambda: 2\n    assert shop.price(1) == 2\n",
    good="import shop\n\ndef test_price(monkeypatch):\n    monkeypatch.setattr(shop, 'rate', lambda: "
    "2)\n    assert shop.price(1) == 2\n",
    check=for_lasting_changes(_find, in_production=False),
)
