"""An environment variable is set for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part
from flakehound.lint.rules._values import matching, told

_CHANGERS = frozenset(("os.putenv", "os.unsetenv", "os.environ.update", "os.environ.setdefault", "os.environ.pop",
                       "os.environ.clear", "dotenv.load_dotenv"))  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    signs = list(_changes(part))
    if not part.is_undone(sign.node for sign in signs):
        yield from signs


def _changes(part: Part) -> Iterator[Sign]:
    for target, statement in part.sights.assigned:
        if isinstance(target, ast.Subscript) and part.sights.dotted(target.value) == "os.environ":
            yield Sign(statement, "os.environ[...] is changed and stays so for the tests that follow")
    for call in matching(part, _CHANGERS):
        yield told(call, "{} changes the environment for the tests that follow")


def _check(context: Context) -> Iterator[tuple[Part, Sign]]:
    if not any("patch.dict" in guard or guard.endswith("EnvironmentVarGuard") for guard in context.guards):
        yield from context.signs(_look)


RULE = Rule(
    id="FH901",
    name="environment-variable",
    cause=Cause.TEST_ORDER,
    title="os.environ is changed",
    why="The variable outlives the test; others pass or fail depending on whether they ran before or after.",
    fix="`monkeypatch.setenv(...)` or `mock.patch.dict(os.environ, ...)`, which undo it.",
    bad="import os\n\ndef test_debug():\n    os.environ['DEBUG'] = '1'\n    assert debug()\n",
    good="def test_debug(monkeypatch):\n    monkeypatch.setenv('DEBUG', '1')\n    assert debug()\n",
    check=_check,
)
