"""Asynchronous code waits a while and does not check for what."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import number_of, told

_PAUSES = frozenset(("asyncio.sleep", "trio.sleep", "anyio.sleep", "curio.sleep", "tornado.gen.sleep"))
_BLIND = frozenset(("wait_for_timeout", "implicitly_wait", "qWait", "waitForTimeout"))


def _is_blind(call: Call) -> bool:
    if call.name in _PAUSES:
        return (number_of(call.argument(0)) or 1) > 0 and number_of(call.argument(0)) != 0
    if call.last in _BLIND:
        return True
    # `event.wait(2)` returns whether it was set; as a statement nobody asks.
    limit = call.argument(0, "timeout")
    return (
        call.last == "wait" and "Barrier" not in call.name and call.is_statement and number_of(limit) is not None
    )


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if _is_blind(call):
            yield told(call, "{} goes on after a while, whether or not what it waits for has happened")


RULE = Rule(
    id="FH302",
    name="wait-without-condition",
    cause=Cause.ASYNC_WAIT,
    title="An asynchronous wait without a condition",
    why="Other tasks have usually got far enough after the pause, and on a busy machine they have not.",
    fix="Await the task or an event, and assert the result of a wait that has a limit.",
    bad="import asyncio\n\nasync def test_push(queue):\n    queue.start()\n    await "
    "asyncio.sleep(0.1)\n    assert queue.empty()\n",
    good="async def test_push(queue):\n    queue.start()\n    await queue.join()\n    assert queue.empty()\n",
    check=in_each(_look),
)
