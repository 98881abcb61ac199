"""The result depends on the time zone of the machine."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function, uses
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for

_LOCAL_TIME_FUNCTIONS = frozenset(
    {
        "dateutil.tz.gettz",
        "dateutil.tz.tzlocal",
        "time.mktime",
        "time.tzset",
        "tzlocal.get_localzone",
    }
)


def _uses_local_time(call: Call) -> bool:
    if call.name in _LOCAL_TIME_FUNCTIONS:
        return call.name != "dateutil.tz.gettz" or call.has_no_arguments
    if call.name == "time.localtime":
        return not call.has_no_arguments
    if call.name in ("datetime.datetime.fromtimestamp", "datetime.date.fromtimestamp"):
        return len(call.node.args) < 2 and call.keyword("tz") is None
    return call.short_name == "astimezone" and call.has_no_arguments


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if _uses_local_time(call):
            yield sign_for(call, "{} depends on the machine's time zone")


RULE = LintRule(
    id="FH202",
    name="time-zone",
    cause=Cause.TIME,
    title="The machine's time zone is used",
    why="The same moment has another hour, and near midnight another date, in another time zone or in summer.",
    fix="Pass the time zone (`tz=timezone.utc`), or set `TZ` for the test with `monkeypatch.setenv` and "
    "`time.tzset()`.",
    bad="import datetime\n\ndef test_day():\n    assert datetime.datetime.fromtimestamp(86400).day == 2\n",
    good="import datetime\n\ndef test_day():\n"
    "    assert datetime.datetime.fromtimestamp(86400, tz=datetime.timezone.utc).day == 2\n",
    check=in_each_function(_find, unless=uses("freezegun.", "freeze_time", "freezer", "time_machine.")),
)
