"""The machine's time zone decides what a test sees."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each, uses
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import told

_LOCAL = frozenset(
    ("time.mktime", "dateutil.tz.tzlocal", "dateutil.tz.gettz", "tzlocal.get_localzone", "time.tzset")
)


def _is_local(call: Call) -> bool:
    if call.name in _LOCAL:
        return call.name != "dateutil.tz.gettz" or call.is_bare
    if call.name == "time.localtime":
        return not call.is_bare
    if call.name in ("datetime.datetime.fromtimestamp", "datetime.date.fromtimestamp"):
        return len(call.node.args) < 2 and call.keyword("tz") is None
    return call.last == "astimezone" and call.is_bare


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if _is_local(call):
            yield told(call, "{} depends on the machine's time zone")


RULE = Rule(
    id="FH202",
    name="time-zone",
    cause=Cause.TIME,
    title="The machine's time zone is used",
    why="The same moment has another hour, and near midnight another date, on a machine elsewhere or in summer.",
    fix="Give the zone (`tz=timezone.utc`), or set `TZ` for the test with `monkeypatch.setenv` and "
    "`time.tzset()`.",
    bad="import datetime\n\ndef test_day():\n    assert datetime.datetime.fromtimestamp(86400).day == 2\n",
    good="import datetime\n\ndef test_day():\n"
    "    assert datetime.datetime.fromtimestamp(86400, tz=datetime.timezone.utc).day == 2\n",
    check=in_each(_look, unless=uses("freezegun.", "freeze_time", "freezer", "time_machine.")),
)
