"""A patch is started and never stopped."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.short_name == "start" and "patch" in call.name and "mock" in call.name:
            yield sign_for(call, "{} is never stopped")


def _is_stopped(context: CaseContext) -> bool:
    return any(name.endswith((".stop", ".stopall", "addCleanup", "addfinalizer")) for name in context.used_names)


RULE = LintRule(
    id="FH905",
    name="patch-not-stopped",
    cause=Cause.TEST_ORDER,
    title="mock.patch(...).start() without stop()",
    why="The patch stays for every test that follows in the process.",
    fix="Use `with mock.patch(...)`, or `self.addCleanup(patcher.stop)` right after the start.",
    bad="from unittest import mock\n\ndef test_mail():\n    mock.patch('shop.send').start()\n    assert order()\n",
    good="from unittest import mock\n\ndef test_mail():\n    with mock.patch('shop.send'):\n        "
    "assert order()\n",
    check=in_each_function(_find, in_production=False, unless=_is_stopped),
)
