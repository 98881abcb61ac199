"""Asynchronous code waits a fixed time without checking a condition."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import number_value
from flakehound.lint.rules.sleep_as_synchronisation import why_no_synchronisation

_SLEEP_FUNCTIONS = frozenset({"anyio.sleep", "asyncio.sleep", "curio.sleep", "tornado.gen.sleep", "trio.sleep"})
_WAITS_WITHOUT_CONDITION = frozenset({"implicitly_wait", "qWait", "waitForTimeout", "wait_for_timeout"})


def _ignores_condition(call: Call) -> bool:
    if call.name in _SLEEP_FUNCTIONS:
        return (number_value(call.argument(0)) or 1) > 0 and number_value(call.argument(0)) != 0
    if call.short_name in _WAITS_WITHOUT_CONDITION:
        return True
    # `event.wait(2)` returns whether it was set; a statement ignores that.
    timeout = call.argument(0, "timeout")
    return (
        call.short_name == "wait"
        and "Barrier" not in call.name
        and call.is_statement
        and number_value(timeout) is not None
    )


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if _ignores_condition(call):
            message = "{} goes on after a while, whether or not what it waits for has happened"
            yield sign_for(call, message, why_no_synchronisation(function, call))


RULE = LintRule(
    id="FH302",
    name="wait-without-condition",
    cause=Cause.ASYNC_WAIT,
    title="An asynchronous wait without a condition",
    why="The pause is usually long enough for the other tasks, but on a busy machine it is too short.",
    fix="Await the task or an event, and assert the result of a wait that has a limit.",
    bad="import asyncio\n\nasync def test_push(queue):\n    queue.start()\n    await "
    "asyncio.sleep(0.1)\n    assert queue.empty()\n",
    good="async def test_push(queue):\n    queue.start()\n    await queue.join()\n    assert queue.empty()\n",
    check=in_each_function(_find),
)
