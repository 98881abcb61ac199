"""A task is started and never awaited."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.source.syntax_walk import nodes_of

_TASK_FUNCTIONS = frozenset(
    {
        "create_task",
        "ensure_future",
        "run_coroutine_threadsafe",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.short_name in _TASK_FUNCTIONS and _is_never_awaited(function, call) and _is_of_event_loop(call):
            yield sign_for(call, "{} starts a task that nothing awaits")


def _is_of_event_loop(call: Call) -> bool:
    """Whether asyncio or an event loop starts the task; a task group or a nursery waits for its tasks."""
    receiver = call.name.rpartition(".")[0].lower()
    return receiver in ("", "asyncio", "asyncio.tasks") or "loop" in receiver


def _is_never_awaited(function: ReachedFunction, call: Call) -> bool:
    if call.is_statement:
        return True
    parent = call.parents[0] if call.parents else None
    if not isinstance(parent, ast.Assign) or not isinstance(parent.targets[0], ast.Name):
        return False
    name = parent.targets[0].id
    uses = [node for node in nodes_of(function.node) if isinstance(node, ast.Name) and node.id == name]
    return len(uses) < 2


RULE = LintRule(
    id="FH312",
    name="abandoned-task",
    cause=Cause.CONCURRENCY,
    title="A task that is never awaited",
    why="The loop may close, or the assertion may run, before the task; and a task without a reference can "
    "be garbage-collected.",
    fix="Keep the task and await it, or use a task group.",
    bad="import asyncio\n\nasync def test_log(log):\n    asyncio.create_task(log.flush())\n    assert log.empty\n",
    good="import asyncio\n\nasync def test_log(log):\n    await asyncio.create_task(log.flush())\n   "
    " assert log.empty\n",
    check=in_each_function(_find, in_production=False),
)
