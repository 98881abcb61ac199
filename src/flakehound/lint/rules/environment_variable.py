"""An environment variable is set for all tests that follow."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of, string_value

_CHANGING_FUNCTIONS = frozenset(
    {
        "dotenv.load_dotenv",
        "os.environ.clear",
        "os.environ.pop",
        "os.environ.setdefault",
        "os.environ.update",
        "os.putenv",
        "os.unsetenv",
    }
)


# Libraries read these at import or while drawing; they do not change what code returns.
_HARMLESS_VARIABLES = frozenset(
    {
        "COLUMNS",
        "COVERAGE_FILE",
        "CUDA_VISIBLE_DEVICES",
        "DISPLAY",
        "KMP_DUPLICATE_LIB_OK",
        "MPLBACKEND",
        "NO_COLOR",
        "OMP_NUM_THREADS",
        "PYTHONWARNINGS",
        "QT_QPA_PLATFORM",
        "SDL_VIDEODRIVER",
        "TF_CPP_MIN_LOG_LEVEL",
    }
)


_RESTORING_FUNCTIONS = frozenset({"os.environ.clear", "os.environ.update"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    if any(_puts_back(function, call) for call in function.facts.calls):
        return
    for target, statement in function.facts.assignments:
        if _is_environment_variable(function, target):
            yield Sign(statement, "os.environ[...] is changed and stays so for the tests that follow")
    for call in calls_of(function, _CHANGING_FUNCTIONS):
        if string_value(call.argument(0)) not in _HARMLESS_VARIABLES:
            yield sign_for(call, "{} changes the environment for the tests that follow")


def _puts_back(function: ReachedFunction, call: Call) -> bool:
    """Whether the function copied all variables before and clears them before the copy comes back."""
    names = {other.name for other in function.facts.calls}
    copies = "os.environ.copy" in names or any(
        other.name == "dict"
        and "os.environ" in {function.facts.dotted_name(argument) for argument in other.node.args}
        for other in function.facts.calls
    )
    return copies and call.name == "os.environ.update" and "os.environ.clear" in names


def _is_environment_variable(function: ReachedFunction, target: ast.expr) -> bool:
    if not isinstance(target, ast.Subscript) or string_value(target.slice) in _HARMLESS_VARIABLES:
        return False
    return function.facts.dotted_name(target.value) == "os.environ"


def _is_restored(context: CaseContext) -> bool:
    if any("patch.dict" in name or name.endswith("EnvironmentVarGuard") for name in context.used_names):
        return True
    # A fixture or a set-up that copies all variables puts them back.
    return "os.environ.copy" in context.used_names and not context.used_names.isdisjoint(_RESTORING_FUNCTIONS)


RULE = LintRule(
    id="FH901",
    name="environment-variable",
    cause=Cause.TEST_ORDER,
    title="os.environ is changed",
    why="The variable outlives the test; others pass or fail depending on whether they ran before or after.",
    fix="`monkeypatch.setenv(...)` or `mock.patch.dict(os.environ, ...)`, which undo it.",
    bad="import os\n\ndef test_debug():\n    os.environ['DEBUG'] = '1'\n    assert debug()\n",
    good="def test_debug(monkeypatch):\n    monkeypatch.setenv('DEBUG', '1')\n    assert debug()\n",
    check=for_lasting_changes(_find, unless=_is_restored),
)
