"""The interpreter's own tables are changed for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part
from flakehound.lint.rules._lasting import lasting
from flakehound.lint.rules._values import matching, told

_TABLES = frozenset(
    ("sys.path", "sys.modules", "sys.argv", "sys.stdout", "sys.stderr", "sys.stdin", "sys.meta_path")
)
_CHANGERS = frozenset(
    ("sys.path.append", "sys.path.insert", "sys.path.remove", "sys.path.extend", "sys.modules.pop",
        "sys.modules.update",
     "importlib.reload", "imp.reload", "reload", "sys.argv.append", "sys.setrecursionlimit",
     "sys.setswitchinterval",
     "importlib.invalidate_caches", "site.addsitedir", "sys.argv.extend")
)  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    for target, statement in part.sights.assigned:
        inner = target.value if isinstance(target, ast.Subscript) else target
        name = part.sights.dotted(inner) if isinstance(inner, ast.Attribute) else ""
        if name in _TABLES and not _is_restored(part, name):
            yield Sign(statement, f"{name} is changed and stays so for the tests that follow")
    for call in matching(part, _CHANGERS):
        yield told(call, "{} changes the interpreter for the tests that follow")


def _is_restored(part: Part, name: str) -> bool:
    return sum(isinstance(target, ast.Attribute) and part.sights.dotted(target) == name
               for target, _ in part.sights.assigned) > 1  # fmt: skip


def _is_guarded(context: Context) -> bool:
    return any("patch.dict" in guard or guard.endswith("syspath_prepend") for guard in context.guards)


RULE = Rule(
    id="FH903",
    name="interpreter-state",
    cause=Cause.TEST_ORDER,
    title="sys.path, sys.modules, sys.argv or the streams are changed",
    why="Later tests import other modules, read other arguments or print elsewhere.",
    fix="`monkeypatch.syspath_prepend`, `monkeypatch.setitem(sys.modules, ...)`, "
    "`monkeypatch.setattr(sys, 'argv', ...)`.",
    bad="import sys\n\ndef test_cli():\n    sys.argv = ['tool', '-v']\n    assert main() == 0\n",
    good="import sys\n\ndef test_cli(monkeypatch):\n    monkeypatch.setattr(sys, 'argv', ['tool', "
    "'-v'])\n    assert main() == 0\n",
    check=lasting(_look, unless=_is_guarded),
)
