"""Logging is set up for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._lasting_change import lasting_change
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_NAMES = frozenset(("logging.basicConfig", "logging.disable", "logging.config.dictConfig",
    "logging.config.fileConfig",
                    "logging.captureWarnings", "logging.addLevelName", "logging.setLoggerClass"))  # fmt: skip
_METHODS = frozenset(("setLevel", "addHandler", "removeHandler", "addFilter"))


def _find(function: ReachedFunction) -> Iterator[Sign]:
    undone = {call.short_name for call in function.facts.calls} >= {"addHandler", "removeHandler"}
    for call in calls_of(function, _NAMES):
        yield sign_for(call, "{} sets up logging for the whole process")
    for call in function.facts.calls:
        if call.short_name in _METHODS and call.name.startswith("logging.getLogger") and not undone:
            yield sign_for(call, "{} changes a logger that all tests share")
    for target, statement in function.facts.assignments:
        if isinstance(target, ast.Attribute) and function.facts.dotted_name(target).startswith("logging."):
            yield Sign(statement, f"{ast.unparse(target)} changes a logger that all tests share")


RULE = LintRule(
    id="FH912",
    name="logging-configuration",
    cause=Cause.TEST_ORDER,
    title="Logging is configured",
    why="Loggers are global: levels, handlers and `disable` hold for every later test, and "
    "`basicConfig` works only once.",
    fix="Use `caplog.at_level(...)`, or take the handler off again in a fixture.",
    bad="import logging\n\ndef test_quiet():\n    logging.disable(logging.CRITICAL)\n    assert run() == 0\n",
    good="def test_quiet(caplog):\n    with caplog.at_level('CRITICAL'):\n        assert run() == 0\n",
    check=lasting_change(_find),
)
