"""An environment variable is set for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part
from flakehound.lint.rules._lasting import lasting
from flakehound.lint.rules._values import matching, text_of, told

_CHANGERS = frozenset(("os.putenv", "os.unsetenv", "os.environ.update", "os.environ.setdefault", "os.environ.pop",
                       "os.environ.clear", "dotenv.load_dotenv"))  # fmt: skip


# Libraries read these when they are imported or draw, and what they change is noise on a screen.
_HARMLESS = frozenset(
    ("TF_CPP_MIN_LOG_LEVEL", "MPLBACKEND", "QT_QPA_PLATFORM", "SDL_VIDEODRIVER", "PYTHONWARNINGS", "COLUMNS",
     "KMP_DUPLICATE_LIB_OK", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "DISPLAY", "NO_COLOR", "COVERAGE_FILE")
)  # fmt: skip


def _look(part: Part) -> Iterator[Sign]:
    for target, statement in part.sights.assigned:
        if _is_variable(part, target):
            yield Sign(statement, "os.environ[...] is changed and stays so for the tests that follow")
    for call in matching(part, _CHANGERS):
        if text_of(call.argument(0)) not in _HARMLESS:
            yield told(call, "{} changes the environment for the tests that follow")


def _is_variable(part: Part, target: ast.expr) -> bool:
    if not isinstance(target, ast.Subscript) or text_of(target.slice) in _HARMLESS:
        return False
    return part.sights.dotted(target.value) == "os.environ"


def _is_guarded(context: Context) -> bool:
    return any("patch.dict" in guard or guard.endswith("EnvironmentVarGuard") for guard in context.guards)


RULE = Rule(
    id="FH901",
    name="environment-variable",
    cause=Cause.TEST_ORDER,
    title="os.environ is changed",
    why="The variable outlives the test; others pass or fail depending on whether they ran before or after.",
    fix="`monkeypatch.setenv(...)` or `mock.patch.dict(os.environ, ...)`, which undo it.",
    bad="import os\n\ndef test_debug():\n    os.environ['DEBUG'] = '1'\n    assert debug()\n",
    good="def test_debug(monkeypatch):\n    monkeypatch.setenv('DEBUG', '1')\n    assert debug()\n",
    check=lasting(_look, unless=_is_guarded),
)
