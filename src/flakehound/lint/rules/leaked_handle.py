"""Something is opened and not closed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import told

_OPENERS = frozenset(
    ("open", "io.open", "codecs.open", "socket.socket", "tempfile.mkstemp", "os.open", "gzip.open")
)
_LEFT_BEHIND = frozenset(("tempfile.mkdtemp", "tempfile.mkstemp"))
_CLOSERS = frozenset(
    ("close", "rmtree", "remove", "unlink", "removedirs", "addCleanup", "closing", "terminate", "callback")
)


def _look(part: Part) -> Iterator[Sign]:
    closed = any(call.last in _CLOSERS for call in part.sights.calls) or part.fixture
    for call in part.sights.calls:
        if not closed and id(call.node) not in part.sights.entered and _leaks(call):
            yield told(call, "{} is not closed or removed here")


def _leaks(call: Call) -> bool:
    if call.name in _LEFT_BEHIND:
        return True
    kept = bool(call.parents) and isinstance(call.parents[0], ast.Assign | ast.Attribute)
    stays = call.name == "tempfile.NamedTemporaryFile" and _is_false(call.keyword("delete"))
    return stays or (call.name in _OPENERS and kept)


def _is_false(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Constant) and node.value is False


RULE = Rule(
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
    check=in_each(_look, production=False),
)
