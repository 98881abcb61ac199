"""A thread is started and never waited for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.surroundings import is_returned
from flakehound.lint.rules._checks import FunctionCheck, Hit
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of

_THREAD_FUNCTIONS = frozenset(
    {
        "PyQt5.QtCore.QThread",
        "_thread.start_new_thread",
        "eventlet.spawn",
        "gevent.spawn",
        "thread.start_new_thread",
        "threading.Thread",
        "threading.Timer",
    }
)
_WAITING_FUNCTIONS = ("cancel", "get", "join", "joinall", "wait")


def _find(function: ReachedFunction) -> Iterator[Sign]:
    is_joined = any(
        call.short_name in _WAITING_FUNCTIONS and not call.name.startswith("os.path")
        for call in function.facts.calls
    )
    for call in calls_of(function, _THREAD_FUNCTIONS):
        if function.is_production or not is_joined:
            weak = "production code may wait for it elsewhere" if function.is_production else ""
            if is_returned(function, call) or _passes_join_on(function):
                weak = "another function may wait for it"
            yield sign_for(call, "{} runs beside the test, and nothing here waits for its end", weak)


def _passes_join_on(function: ReachedFunction) -> bool:
    """Whether the function mentions `join` without calling it: `addfinalizer(thread.join)`."""
    arguments = (argument for call in function.facts.calls for argument in call.node.args)
    return any(isinstance(argument, ast.Attribute) and argument.attr == "join" for argument in arguments)


def _without_joined(context: CaseContext, hits: list[Hit]) -> Iterator[Hit]:
    is_joined = any(
        name.endswith((".join", ".joinall")) and not name.startswith(("os.path", "."))
        for name in context.used_names
    )
    for function, sign in hits:
        if function.is_production or not is_joined:
            yield function, sign


RULE = LintRule(
    id="FH311",
    name="unjoined-thread",
    cause=Cause.CONCURRENCY,
    title="A thread that nobody joins (fire and forget)",
    why="Whether the thread has done its work when the assertion comes is up to the scheduler, "
    "and it may still run during the next test.",
    fix="Join the thread, or use a pool as a context manager, before you assert.",
    bad="import threading\n\ndef test_worker(box):\n    threading.Thread(target=box.fill).start()\n  "
    "  assert box.full\n",
    good="import threading\n\ndef test_worker(box):\n    worker = threading.Thread(target=box.fill)\n"
    "    worker.start()\n"
    "    worker.join()\n    assert box.full\n",
    check=FunctionCheck(find=_find, select=_without_joined),
)
