"""An environment variable is set for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of, string_value

_CHANGERS = frozenset(("os.putenv", "os.unsetenv", "os.environ.update", "os.environ.setdefault", "os.environ.pop",
                       "os.environ.clear", "dotenv.load_dotenv"))  # fmt: skip


# Libraries read these when they are imported or draw, and what they change is noise on a screen.
_HARMLESS = frozenset(
    ("TF_CPP_MIN_LOG_LEVEL", "MPLBACKEND", "QT_QPA_PLATFORM", "SDL_VIDEODRIVER", "PYTHONWARNINGS", "COLUMNS",
     "KMP_DUPLICATE_LIB_OK", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "DISPLAY", "NO_COLOR", "COVERAGE_FILE")
)  # fmt: skip


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for target, statement in function.facts.assignments:
        if _is_variable(function, target):
            yield Sign(statement, "os.environ[...] is changed and stays so for the tests that follow")
    for call in calls_of(function, _CHANGERS):
        if string_value(call.argument(0)) not in _HARMLESS:
            yield sign_for(call, "{} changes the environment for the tests that follow")


def _is_variable(function: ReachedFunction, target: ast.expr) -> bool:
    if not isinstance(target, ast.Subscript) or string_value(target.slice) in _HARMLESS:
        return False
    return function.facts.dotted_name(target.value) == "os.environ"


def _is_guarded(context: CaseContext) -> bool:
    return any("patch.dict" in name or name.endswith("EnvironmentVarGuard") for name in context.used_names)


RULE = LintRule(
    id="FH901",
    name="environment-variable",
    cause=Cause.TEST_ORDER,
    title="os.environ is changed",
    why="The variable outlives the test; others pass or fail depending on whether they ran before or after.",
    fix="`monkeypatch.setenv(...)` or `mock.patch.dict(os.environ, ...)`, which undo it.",
    bad="import os\n\ndef test_debug():\n    os.environ['DEBUG'] = '1'\n    assert debug()\n",
    good="def test_debug(monkeypatch):\n    monkeypatch.setenv('DEBUG', '1')\n    assert debug()\n",
    check=lasting_change(_find, unless=_is_guarded),
)
