"""An address of somebody else's server."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value
from flakehound.lint.rules.network_call import is_mocked

_OUTSIDE = re.compile(
    r"^(https?|ftp|wss?|git|ssh)://(?![\w.-]*localhost|{}:|127\.|0\.0\.0\.0|\[::1\]|testserver|.{0,40}example\.|.{0,40}\.(test|invalid|local)\b)[\w{]",
    re.I,
)
_PLAIN = frozenset(
    (
        "urlparse",
        "urlsplit",
        "quote",
        "quote_plus",
        "unquote",
        "urljoin",
        "match",
        "search",
        "format",
        "print",
        "URL",
    )
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.short_name in _PLAIN or call.short_name.startswith("assert") or _is_test_client(call):
            continue
        for argument in (*call.node.args, *(one.value for one in call.node.keywords)):
            address = _address(function, argument)
            if address:
                yield Sign(
                    call.node, f"hands {address[:60]!r} to {call.short_name or 'a call'}(), which may ask it"
                )


def _is_test_client(call: Call) -> bool:
    """Whether it asks an application in the same process, whatever the address says."""
    return call.name.startswith("@") and call.name.partition(".")[0].endswith(("client", "app"))


def _address(function: ReachedFunction, node: ast.expr) -> str | None:
    text = string_value(function.facts.value_of(node))
    return text if text and _OUTSIDE.match(text) else None


RULE = LintRule(
    id="FH403",
    name="outside-address",
    cause=Cause.NETWORK,
    title="An address on the internet is handed over",
    why="If the code asks that address, the test hangs on somebody else's server and on the way to it.",
    fix="Answer in the process (responses, respx, vcr), or use an address under `example.com` that nobody asks.",
    bad="def test_feed():\n    assert Feed('https://news.ycombinator.com/rss').entries\n",
    good="def test_feed(responses):\n    assert Feed('https://news.example.com/rss').entries == []\n",
    check=in_each_function(_find, in_production=False, unless=is_mocked),
)
