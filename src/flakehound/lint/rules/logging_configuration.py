"""Logging is configured for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._lasting_change import for_lasting_changes
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of, string_value

_CONFIGURING_FUNCTIONS = frozenset(
    {
        "logging.addLevelName",
        "logging.basicConfig",
        "logging.captureWarnings",
        "logging.config.dictConfig",
        "logging.config.fileConfig",
        "logging.disable",
        "logging.setLoggerClass",
    }
)
_LOGGER_METHODS = frozenset({"addFilter", "addHandler", "removeHandler", "setLevel"})


def _find(function: ReachedFunction) -> Iterator[Sign]:
    names = {call.short_name for call in function.facts.calls}
    is_undone = names >= {"addHandler", "removeHandler"} or names >= {"addFilter", "removeFilter"}
    changed = [ast.unparse(target) for target, _statement in function.facts.assignments]
    for call in calls_of(function, _CONFIGURING_FUNCTIONS):
        yield sign_for(call, "{} sets up logging for the whole process", _why_weak(function))
    for call in function.facts.calls:
        if call.short_name in _LOGGER_METHODS and call.name.startswith("logging.getLogger") and not is_undone:
            weak = "the logger may be the test's own" if _has_own_name(call) else _why_weak(function)
            yield sign_for(call, "{} changes a logger that all tests share", weak)
    for target, statement in function.facts.assignments:
        is_put_back = changed.count(ast.unparse(target)) > 1
        if (
            isinstance(target, ast.Attribute)
            and not is_put_back
            and function.facts.dotted_name(target).startswith("logging.")
        ):
            message = f"{ast.unparse(target)} changes a logger that all tests share"
            yield Sign(statement, message, _why_weak(function))


def _has_own_name(call: Call) -> bool:
    """Whether the logger's name has "test" in it, or is that of the test's module or of a variable."""
    callee = call.node.func
    maker = callee.value if isinstance(callee, ast.Attribute) else None
    if not isinstance(maker, ast.Call) or not maker.args:
        return False
    name = string_value(maker.args[0])
    return name is None or "test" in name.lower()


def _why_weak(function: ReachedFunction) -> str:
    return "production code may set it up once" if function.is_production else ""


RULE = LintRule(
    id="FH912",
    name="logging-configuration",
    cause=Cause.TEST_ORDER,
    title="Logging is configured",
    why="Loggers are global: levels, handlers and `disable` apply to every later test, and `basicConfig` "
    "works only once.",
    fix="Use `caplog.at_level(...)`, or remove the handler in a fixture.",
    bad="import logging\n\ndef test_quiet():\n    logging.disable(logging.CRITICAL)\n    assert run() == 0\n",
    good="def test_quiet(caplog):\n    with caplog.at_level('CRITICAL'):\n        assert run() == 0\n",
    check=for_lasting_changes(_find),
)
