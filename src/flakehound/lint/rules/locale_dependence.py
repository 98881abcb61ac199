"""The result depends on the locale of the machine."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import string_value

_LOCALE_FORMAT = re.compile(r"%-?[aAbBcxXp]")
_LOCALE_FUNCTIONS = frozenset(
    {
        "locale.atof",
        "locale.currency",
        "locale.format_string",
        "locale.getdefaultlocale",
        "locale.getlocale",
        "locale.getpreferredencoding",
        "locale.setlocale",
        "locale.str",
        "locale.strcoll",
    }
)


def _depends_on_locale(call: Call) -> bool:
    if call.name in _LOCALE_FUNCTIONS:
        return True
    formats = (
        [string_value(argument) for argument in call.node.args[:2]]
        if call.short_name in ("strftime", "strptime")
        else []
    )
    return any(text and _LOCALE_FORMAT.search(text) for text in formats)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if _depends_on_locale(call):
            yield sign_for(call, "{} depends on the machine's locale")


RULE = LintRule(
    id="FH801",
    name="locale-dependence",
    cause=Cause.ENVIRONMENT,
    title="Names, numbers or dates in the machine's language",
    why="Another machine prints `Mai` for `May` and `1.000,5` for `1,000.5`; `setlocale` changes it for all "
    "later tests.",
    fix="Set the locale in a fixture that restores it, or format without names of days and months.",
    bad="import datetime\n\ndef test_month():\n    assert datetime.date(2021, 5, 1).strftime('%B') == 'May'\n",
    good="import datetime\n\ndef test_month():\n    assert datetime.date(2021, 5, 1).strftime('%m') == '05'\n",
    check=in_each_function(_find, in_production=False),
)
