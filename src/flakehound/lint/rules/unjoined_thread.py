"""A thread is started and nobody waits for its end."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Looking, Part
from flakehound.lint.rules._values import matching, told

_THREADS = frozenset(
    ("threading.Thread", "threading.Timer", "_thread.start_new_thread", "thread.start_new_thread", "gevent.spawn",
     "eventlet.spawn", "PyQt5.QtCore.QThread")
)  # fmt: skip
_ENDS = ("join", "joinall", "wait", "get", "cancel")


def _look(part: Part) -> Iterator[Sign]:
    joined = any(call.last in _ENDS and not call.name.startswith("os.path") for call in part.sights.calls)
    for call in matching(part, _THREADS):
        if part.production or not joined:
            yield told(call, "{} runs beside the test, and nothing here waits for its end")


def _unjoined(context: Context, found: list[tuple[Part, Sign]]) -> Iterator[tuple[Part, Sign]]:
    joined = any(
        guard.endswith((".join", ".joinall")) and not guard.startswith(("os.path", "."))
        for guard in context.guards
    )
    for part, sign in found:
        if part.production or not joined:
            yield part, sign


RULE = Rule(
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
    check=Looking(look=_look, sift=_unjoined),
)
