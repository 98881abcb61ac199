"""The interpreter's own tables are changed for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

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


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for target, statement in function.facts.assignments:
        inner = target.value if isinstance(target, ast.Subscript) else target
        name = function.facts.dotted_name(inner) if isinstance(inner, ast.Attribute) else ""
        if name in _TABLES and not _is_restored(function, name):
            yield Sign(statement, f"{name} is changed and stays so for the tests that follow")
    for call in calls_of(function, _CHANGERS):
        yield sign_for(call, "{} changes the interpreter for the tests that follow")


def _is_restored(function: ReachedFunction, name: str) -> bool:
    return sum(isinstance(target, ast.Attribute) and function.facts.dotted_name(target) == name
               for target, _ in function.facts.assignments) > 1  # fmt: skip


def _is_guarded(context: CaseContext) -> bool:
    return any("patch.dict" in name or name.endswith("syspath_prepend") for name in context.used_names)


RULE = LintRule(
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
    check=lasting_change(_find, unless=_is_guarded),
)
