"""A test sleeps instead of waiting for an event."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import calls_of, number_value

_SLEEP_FUNCTIONS = frozenset(
    {
        "eventlet.sleep",
        "gevent.sleep",
        "pause.seconds",
        "time.sleep",
        "twisted.internet.task.deferLater",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _SLEEP_FUNCTIONS):
        if number_value(call.argument(0)) != 0:
            yield sign_for(call, "{} waits a fixed time instead of for an event")


RULE = LintRule(
    id="FH301",
    name="sleep-as-synchronisation",
    cause=Cause.ASYNC_WAIT,
    title="Sleeping instead of waiting for something",
    why="The pause is long enough on an idle machine and too short on a busy one.",
    fix="Wait for the event itself: join, an `Event`, a condition polled with a generous limit.",
    bad="import time\n\ndef test_worker(worker):\n    worker.start()\n    time.sleep(0.5)\n    "
    "assert worker.is_done\n",
    good="def test_worker(worker):\n    worker.start()\n    worker.join()\n    assert worker.is_done\n",
    check=in_each_function(_find),
)
