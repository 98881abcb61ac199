"""The result depends on the current time."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import is_measured_twice
from flakehound.lint.rules._checks import in_direct_calls
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

_CLOCK_FUNCTIONS = frozenset(
    {
        "arrow.now",
        "arrow.utcnow",
        "datetime.date.today",
        "datetime.datetime.now",
        "datetime.datetime.today",
        "datetime.datetime.utcnow",
        "django.utils.timezone.now",
        "maya.now",
        "pandas.Timestamp.now",
        "pandas.Timestamp.today",
        "pandas.Timestamp.utcnow",
        "pendulum.now",
        "pendulum.today",
        "pendulum.utcnow",
        "time.asctime",
        "time.ctime",
        "time.time",
        "time.time_ns",
    }
)
# These read the clock only if they are called without an argument.
_CLOCK_FUNCTIONS_WITHOUT_ARGUMENT = frozenset({"arrow.get", "time.ctime", "time.gmtime", "time.localtime"})
CLOCK_FREEZING_TOOLS = (
    "freeze_time",
    "freezegun.",
    "freezer",
    "frozen_time",
    "libfaketime",
    "pytest_freezegun",
    "time_machine.",
)
_PATCHED_CLOCK_NAMES = frozenset(
    {
        "_now",
        "date",
        "datetime",
        "get_now",
        "gmtime",
        "localtime",
        "now",
        "time",
        "today",
        "utcnow",
    }
)


def reads_clock(call: Call) -> bool:
    """Whether a call reads the current time."""
    if call.name in _CLOCK_FUNCTIONS or (call.name in _CLOCK_FUNCTIONS_WITHOUT_ARGUMENT and call.has_no_arguments):
        return True
    return call.name == "time.strftime" and len(call.node.args) < 2


def is_frozen(context: CaseContext) -> bool:
    """Whether the test freezes or patches the clock."""
    return context.uses(*CLOCK_FREEZING_TOOLS) or not _PATCHED_CLOCK_NAMES.isdisjoint(context.replaced_names)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if reads_clock(call):
            weak = "" if is_measured_twice(function, call.node) else "the time is not compared with another one"
            yield sign_for(call, "{} reads the wall clock", weak)


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
