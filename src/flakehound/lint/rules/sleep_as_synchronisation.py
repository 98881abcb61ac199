"""A pause in the hope that something has happened meanwhile."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._values import matching, number_of, told

_SLEEPS = frozenset(
    ("time.sleep", "gevent.sleep", "eventlet.sleep", "twisted.internet.task.deferLater", "pause.seconds")
)


def _look(part: Part) -> Iterator[Sign]:
    for call in matching(part, _SLEEPS):
        if number_of(call.argument(0)) != 0:
            yield told(call, "{} waits a fixed time instead of for an event")


RULE = Rule(
    id="FH301",
    name="sleep-as-synchronisation",
    cause=Cause.ASYNC_WAIT,
    title="Sleeping instead of waiting for something",
    why="The pause is long enough on an idle machine and too short on a busy one.",
    fix="Wait for the event itself: join, an `Event`, a condition polled with a generous limit.",
    bad="import time\n\ndef test_worker(worker):\n    worker.start()\n    time.sleep(0.5)\n    "
    "assert worker.is_done\n",
    good="def test_worker(worker):\n    worker.start()\n    worker.join()\n    assert worker.is_done\n",
    check=in_each(_look),
)
