"""Paths that are valid on one machine only."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value

_HOME_PATH = re.compile(r"^(/home/\w|/Users/\w|[A-Z]:\\\\?Users\\\\?\w|/root/|~/)")
_REQUEST_METHODS = frozenset({"delete", "get", "head", "options", "patch", "post", "put", "request", "stream"})
_URL_WORD = re.compile(r"mount|redirect|request|route|rule|scope|url|websocket", re.I)
_PATH_FUNCTIONS = (
    "os.getcwd",
    "os.path.abspath",
    "os.path.join",
    "os.path.normpath",
    "os.path.realpath",
    "os.path.relpath",
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for comparison in function.facts.comparisons:
        for side, other in (comparison.sides, comparison.sides[::-1]):
            text = string_value(side)
            if comparison.relation == "equal" and text and "/" in text and _is_path(function, other):
                yield Sign(comparison.node, f"compares a path of this machine with {text[:60]!r}")
    urls = {id(argument) for call in function.facts.calls if _takes_url(call) for argument in call.node.args}
    for constant in function.facts.strings:
        if id(constant) in urls:
            continue
        if isinstance(constant.value, str) and _HOME_PATH.match(constant.value) and "\n" not in constant.value:
            yield Sign(constant, f"{constant.value[:60]!r} is a place on one machine")


def _takes_url(call: Call) -> bool:
    """Whether a call's arguments are paths of a URL: `client.get("/home/me")`, `Route("/home/me")`."""
    return ("." in call.name and call.short_name in _REQUEST_METHODS) or bool(_URL_WORD.search(call.short_name))


def _is_path(function: ReachedFunction, node: ast.expr) -> bool:
    node = function.facts.value_of(node)
    if not isinstance(node, ast.Call):
        return False
    name = function.facts.dotted_name(node.func)
    inner = function.facts.dotted_name(node.args[0]) if name == "str" and node.args else ""
    return name.startswith(_PATH_FUNCTIONS) or inner.startswith(("pathlib.Path", *_PATH_FUNCTIONS))


RULE = LintRule(
    id="FH802",
    name="platform-path",
    cause=Cause.ENVIRONMENT,
    title="A path that is valid on one machine only",
    why="Separators, drives and home folders differ between systems, and symbolic links resolve differently.",
    fix="Compare `Path` objects, and build both sides from the same folder.",
    bad="import os\n\ndef test_path():\n    assert os.path.join('a', 'b') == 'a/b'\n",
    good="from pathlib import Path\n\ndef test_path():\n    assert Path('a', 'b') == Path('a') / 'b'\n",
    check=in_each_function(_find, in_production=False),
)
