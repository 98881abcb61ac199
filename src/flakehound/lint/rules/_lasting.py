"""Changes that outlive a test, unless something puts them back."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from flakehound.lint.findings import Sign
from flakehound.lint.rules._context import Context, Look, Looking, Part
from flakehound.lint.source.syntax_walk import nodes_of

_TEARDOWNS = frozenset(
    ("tearDown", "asyncTearDown", "teardown_method", "teardown", "teardown_function", "tearDownClass",
     "teardown_class", "tearDownModule", "teardown_module")
)  # fmt: skip
_CLEANERS = frozenset(("addCleanup", "addClassCleanup", "addModuleCleanup", "addfinalizer", "callback"))


def lasting(look: Look, *, production: bool = True, unless: Callable[[Context], bool] | None = None) -> Looking:
    """A check for changes of what tests share.

    Left out are functions that change it back, tests whose tear-down changes it again, and fixtures that run
    before every test: what all tests do alike makes none depend on another.
    """

    def left_behind(part: Part) -> tuple[Sign, ...]:
        signs = tuple(look(part))
        return () if is_undone(part, signs) else signs

    return Looking(look=left_behind, production=production, unless=unless, sift=_not_put_back)


def _not_put_back(_context: Context, found: list[tuple[Part, Sign]]) -> list[tuple[Part, Sign]]:
    if any(_is_of_teardown(part) for part, _sign in found):
        return []
    return [(part, sign) for part, sign in found if not part.everywhere]


def _is_of_teardown(part: Part) -> bool:
    return any(step.rpartition(".")[2] in _TEARDOWNS for step in part.via)


def is_undone(part: Part, signs: tuple[Sign, ...]) -> bool:
    """Whether it asks for a clean-up, does some of it in a `finally`, or some before a `yield` and some after."""
    if signs and any(call.last in _CLEANERS for call in part.sights.calls):
        return True
    if len(signs) < 2:
        return False
    lines = [getattr(sign.node, "lineno", 0) for sign in signs]
    yields = [node.lineno for node in nodes_of(part.function) if isinstance(node, ast.Yield)]
    return any(min(lines) < line < max(lines) for line in yields) or any(
        first <= line <= last for first, last in _finals(part.function) for line in lines
    )


def _finals(function: ast.AST) -> Iterator[tuple[int, int]]:
    """First and last lines of the blocks that run however the function ends."""
    for node in nodes_of(function):
        body = getattr(node, "finalbody", None)
        if body:
            yield body[0].lineno, body[-1].end_lineno or body[-1].lineno
