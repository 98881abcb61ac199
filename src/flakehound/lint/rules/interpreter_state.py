"""State of the interpreter is changed for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_STATE = frozenset(
    {
        "sys.argv",
        "sys.meta_path",
        "sys.modules",
        "sys.path",
        "sys.stderr",
        "sys.stdin",
        "sys.stdout",
    }
)
_CHANGING_FUNCTIONS = frozenset(
    {
        "imp.reload",
        "importlib.invalidate_caches",
        "importlib.reload",
        "reload",
        "site.addsitedir",
        "sys.argv.append",
        "sys.argv.extend",
        "sys.modules.pop",
        "sys.modules.update",
        "sys.path.append",
        "sys.path.extend",
        "sys.path.insert",
        "sys.path.remove",
        "sys.setrecursionlimit",
        "sys.setswitchinterval",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for target, statement in function.facts.assignments:
        inner = target.value if isinstance(target, ast.Subscript) else target
        name = function.facts.dotted_name(inner) if isinstance(inner, ast.Attribute) else ""
        if name in _STATE and not _is_restored(function, name):
            yield Sign(statement, f"{name} is changed and stays so for the tests that follow")
    for call in calls_of(function, _CHANGING_FUNCTIONS):
        yield sign_for(call, "{} changes the interpreter for the tests that follow")


def _is_restored(function: ReachedFunction, name: str) -> bool:
    targets = [target for target, _statement in function.facts.assignments if isinstance(target, ast.Attribute)]
    return sum(function.facts.dotted_name(target) == name for target in targets) > 1


def _uses_restoring_patch(context: CaseContext) -> bool:
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
    check=for_lasting_changes(_find, unless=_uses_restoring_patch),
)
