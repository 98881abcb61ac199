"""The hour of the run decides what a test sees."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_direct_calls
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

_ALWAYS = frozenset(
    (
        "time.time", "time.time_ns", "datetime.datetime.now", "datetime.datetime.utcnow",
        "datetime.datetime.today",
        "datetime.date.today", "django.utils.timezone.now", "pandas.Timestamp.now", "pandas.Timestamp.today",
        "pandas.Timestamp.utcnow", "arrow.now", "arrow.utcnow", "pendulum.now", "pendulum.today",
        "pendulum.utcnow",
        "maya.now", "time.asctime", "time.ctime",
    )
)  # fmt: skip
# Without an argument these tell the present moment.
_BARE = frozenset(("time.localtime", "time.gmtime", "time.ctime", "arrow.get"))
FROZEN = (
    "freezegun.",
    "freeze_time",
    "freezer",
    "time_machine.",
    "libfaketime",
    "pytest_freezegun",
    "frozen_time",
)
_CLOCKS = frozenset(
    ("time", "datetime", "date", "now", "utcnow", "today", "localtime", "gmtime", "_now", "get_now")
)


def reads_clock(call: Call) -> bool:
    """Whether a call tells the present moment."""
    if call.name in _ALWAYS or (call.name in _BARE and call.has_no_arguments):
        return True
    return call.name == "time.strftime" and len(call.node.args) < 2


def is_frozen(context: CaseContext) -> bool:
    """Whether the test stops the clock or brings its own."""
    return context.uses(*FROZEN) or not _CLOCKS.isdisjoint(context.replaced_names)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if reads_clock(call):
            yield sign_for(call, "{} reads the wall clock")


RULE = LintRule(
    id="FH201",
    name="wall-clock",
    cause=Cause.TIME,
    title="The present moment is read",
    why="Two readings can lie on both sides of a second, a midnight or a change to summer time.",
    fix="Freeze the clock (freezegun, time-machine), or hand the moment in as an argument.",
    bad="import datetime\n\ndef test_stamp():\n    assert stamp() == "
    "datetime.datetime.now().isoformat(timespec='seconds')\n",
    good="import datetime\nfrom freezegun import freeze_time\n\n@freeze_time('2021-03-04')\ndef test_stamp():\n"
    "    assert stamp() == datetime.datetime.now().isoformat()\n",
    check=in_direct_calls(_find, unless=is_frozen),
)
