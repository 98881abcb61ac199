"""Paths spelled for one machine."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value

_HOME = re.compile(r"^(/home/\w|/Users/\w|[A-Z]:\\\\?Users\\\\?\w|/root/|~/)")
_MAKERS = (
    "os.path.join",
    "os.path.abspath",
    "os.path.normpath",
    "os.path.relpath",
    "os.path.realpath",
    "os.getcwd",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for one in function.facts.comparisons:
        for side, other in (one.sides, one.sides[::-1]):
            text = string_value(side)
            if one.relation == "equal" and text and "/" in text and _is_path(function, other):
                yield Sign(one.node, f"compares a path of this machine with {text[:60]!r}")
    for constant in function.facts.strings:
        if isinstance(constant.value, str) and _HOME.match(constant.value) and "\n" not in constant.value:
            yield Sign(constant, f"{constant.value[:60]!r} is a place on one machine")


def _is_path(function: ReachedFunction, node: ast.expr) -> bool:
    node = function.facts.value_of(node)
    if not isinstance(node, ast.Call):
        return False
    name = function.facts.dotted_name(node.func)
    inner = function.facts.dotted_name(node.args[0]) if name == "str" and node.args else ""
    return name.startswith(_MAKERS) or inner.startswith(("pathlib.Path", *_MAKERS))


RULE = LintRule(
    id="FH802",
    name="platform-path",
    cause=Cause.ENVIRONMENT,
    title="A path spelled for one machine",
    why="Separators, drives and homes differ between systems, and links in the way resolve differently.",
    fix="Compare `Path` objects, and build both sides from the same start.",
    bad="import os\n\ndef test_path():\n    assert os.path.join('a', 'b') == 'a/b'\n",
    good="from pathlib import Path\n\ndef test_path():\n    assert Path('a', 'b') == Path('a') / 'b'\n",
    check=in_each_function(_find, in_production=False),
)
