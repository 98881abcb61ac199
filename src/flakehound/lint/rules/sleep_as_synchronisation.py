"""A test sleeps instead of waiting for an event."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import surroundings_in
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


NEVER_ENDS_S = 30.0  # a pause of a test that should end is shorter


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in calls_of(function, _SLEEP_FUNCTIONS):
        if number_value(call.argument(0)) != 0:
            yield sign_for(
                call, "{} waits a fixed time instead of for an event", why_no_synchronisation(function, call)
            )


def why_no_synchronisation(function: ReachedFunction, call: Call) -> str:
    """Why a pause is probably not there to let something else happen before a check; "" if it is."""
    around = surroundings_in(function)
    if around.is_in_inner_function(call.node):
        return "the work of an inner function"
    if around.is_in_loop(call.node):
        return "in a loop that may wait for a condition"
    if around.is_expected_to_fail(call.node):
        return "in a block that ends the pause"
    seconds = number_value(call.argument(0))
    if seconds is not None and seconds >= NEVER_ENDS_S:
        return "so long that it is meant to be interrupted"
    if function.is_production:
        return "production code has its own reasons"
    return "" if function.via or around.is_checked_later(call.node) else "nothing is checked after it"


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
