"""Logging is set up for the whole process."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part
from flakehound.lint.rules._lasting import lasting
from flakehound.lint.rules._values import matching, told

_NAMES = frozenset(("logging.basicConfig", "logging.disable", "logging.config.dictConfig",
    "logging.config.fileConfig",
                    "logging.captureWarnings", "logging.addLevelName", "logging.setLoggerClass"))  # fmt: skip
_METHODS = frozenset(("setLevel", "addHandler", "removeHandler", "addFilter"))


def _look(part: Part) -> Iterator[Sign]:
    undone = {call.last for call in part.sights.calls} >= {"addHandler", "removeHandler"}
    for call in matching(part, _NAMES):
        yield told(call, "{} sets up logging for the whole process")
    for call in part.sights.calls:
        if call.last in _METHODS and call.name.startswith("logging.getLogger") and not undone:
            yield told(call, "{} changes a logger that all tests share")
    for target, statement in part.sights.assigned:
        if isinstance(target, ast.Attribute) and part.sights.dotted(target).startswith("logging."):
            yield Sign(statement, f"{ast.unparse(target)} changes a logger that all tests share")


RULE = Rule(
    id="FH912",
    name="logging-configuration",
    cause=Cause.TEST_ORDER,
    title="Logging is configured",
    why="Loggers are global: levels, handlers and `disable` hold for every later test, and "
    "`basicConfig` works only once.",
    fix="Use `caplog.at_level(...)`, or take the handler off again in a fixture.",
    bad="import logging\n\ndef test_quiet():\n    logging.disable(logging.CRITICAL)\n    assert run() == 0\n",
    good="def test_quiet(caplog):\n    with caplog.at_level('CRITICAL'):\n        assert run() == 0\n",
    check=lasting(_look),
)
