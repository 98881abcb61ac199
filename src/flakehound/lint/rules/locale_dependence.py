"""The machine's language decides what a test sees."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Call
from flakehound.lint.rules._values import text_of, told

_SPOKEN = re.compile(r"%-?[aAbBcxXp]")
_NAMES = frozenset(("locale.currency", "locale.format_string", "locale.str", "locale.getlocale",
    "locale.getdefaultlocale",
                    "locale.setlocale", "locale.strcoll", "locale.atof",
                    "locale.getpreferredencoding"))  # fmt: skip


def _is_spoken(call: Call) -> bool:
    if call.name in _NAMES:
        return True
    formats = [text_of(one) for one in call.node.args[:2]] if call.last in ("strftime", "strptime") else []
    return any(one and _SPOKEN.search(one) for one in formats)


def _look(part: Part) -> Iterator[Sign]:
    for call in part.sights.calls:
        if _is_spoken(call):
            yield told(call, "{} depends on the machine's locale")


RULE = Rule(
    id="FH801",
    name="locale-dependence",
    cause=Cause.ENVIRONMENT,
    title="Names, numbers or dates in the machine's language",
    why="Another machine says `Mai` for `May` and `1.000,5` for `1,000.5`; `setlocale` changes it "
    "for all later tests.",
    fix="Set the locale in a fixture that restores it, or format without names of days and months.",
    bad="import datetime\n\ndef test_month():\n    assert datetime.date(2021, 5, 1).strftime('%B') == 'May'\n",
    good="import datetime\n\ndef test_month():\n    assert datetime.date(2021, 5, 1).strftime('%m') == '05'\n",
    check=in_each(_look, production=False),
)
