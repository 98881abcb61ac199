"""A patch is started and never stopped."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part, in_each
from flakehound.lint.rules._values import told


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if call.last == "start" and "patch" in call.name and "mock" in call.name:
            yield told(call, "{} is never stopped")


def _is_stopped(context: Context) -> bool:
    return any(guard.endswith((".stop", ".stopall", "addCleanup", "addfinalizer")) for guard in context.guards)


RULE = Rule(
    id="FH905",
    name="patch-not-stopped",
    cause=Cause.TEST_ORDER,
    title="mock.patch(...).start() without stop()",
    why="The patch stays for every test that follows in the process.",
    fix="Use `with mock.patch(...)`, or `self.addCleanup(patcher.stop)` right after the start.",
    bad="from unittest import mock\n\ndef test_mail():\n    mock.patch('shop.send').start()\n    assert order()\n",
    good="from unittest import mock\n\ndef test_mail():\n    with mock.patch('shop.send'):\n        "
    "assert order()\n",
    check=in_each(_look, production=False, unless=_is_stopped),
)
