"""Something is opened and not closed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import is_handed_on, is_returned
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

_OPEN_FUNCTIONS = frozenset(
    {
        "codecs.open",
        "gzip.open",
        "io.open",
        "open",
        "os.open",
        "socket.socket",
        "tempfile.mkstemp",
    }
)
_NEVER_REMOVED = frozenset({"tempfile.mkdtemp", "tempfile.mkstemp"})
_CLOSING_FUNCTIONS = frozenset(
    {
        "addCleanup",
        "callback",
        "close",
        "closing",
        "remove",
        "removedirs",
        "rmtree",
        "terminate",
        "unlink",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    is_closed = any(call.short_name in _CLOSING_FUNCTIONS for call in function.facts.calls) or function.is_fixture
    for call in function.facts.calls:
        if not is_closed and id(call.node) not in function.facts.context_manager_calls and _leaks(call):
            is_kept = any(isinstance(parent, ast.Assign) and _is_attribute(parent) for parent in call.parents)
            is_passed_on = is_handed_on(function, call.node) or is_returned(function, call)
            weak = "another object may close it" if is_kept or is_passed_on else ""
            yield sign_for(call, "{} is not closed or removed here", weak)


def _is_attribute(statement: ast.Assign) -> bool:
    return isinstance(statement.targets[0], ast.Attribute)


def _leaks(call: Call) -> bool:
    if call.name in _NEVER_REMOVED:
        return True
    is_stored = bool(call.parents) and isinstance(call.parents[0], ast.Assign | ast.Attribute)
    is_permanent = call.name == "tempfile.NamedTemporaryFile" and _is_false(call.keyword("delete"))
    return is_permanent or (call.name in _OPEN_FUNCTIONS and is_stored)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


RULE = LintRule(
    id="FH701",
    name="leaked-handle",
    cause=Cause.RESOURCE_LEAK,
    title="A file, socket or temporary folder is left open",
    why="When it is closed is up to garbage collection; until then data are not flushed, names are "
    "taken, handles run out.",
    fix="Use `with`, or `tmp_path`, which pytest cleans up.",
    bad="def test_write(path):\n    out = open(path, 'w')\n    out.write('x')\n    assert "
    "path.read_text() == 'x'\n",
    good="def test_write(path):\n    with open(path, 'w') as out:\n        out.write('x')\n    "
    "assert path.read_text() == 'x'\n",
    check=in_each_function(_find, in_production=False),
)
