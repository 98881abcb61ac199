"""An address on the internet is passed to a function."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import surroundings_in
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._values import string_value
from flakehound.lint.rules.network_call import is_internet_address, is_mocked

_FETCHING_WORDS = re.compile(r"clone|crawl|download|fetch|retrieve|scrape|urlopen|read_(csv|html|json)", re.I)
_HARMLESS_FUNCTIONS = frozenset(
    {
        "URL",
        "format",
        "match",
        "print",
        "quote",
        "quote_plus",
        "search",
        "unquote",
        "urljoin",
        "urlparse",
        "urlsplit",
    }
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        if call.short_name in _HARMLESS_FUNCTIONS or call.short_name.startswith("assert") or _is_test_client(call):
            continue
        for argument in (*call.node.args, *(keyword.value for keyword in call.node.keywords)):
            address = _address(function, argument)
            if address:
                weak = "" if _FETCHING_WORDS.search(call.short_name) else "the function may not ask it"
                if surroundings_in(function).is_expected_to_fail(call.node):
                    weak = "it is expected to fail"
                message = f"hands {address[:60]!r} to {call.short_name or 'a call'}(), which may ask it"
                yield Sign(call.node, message, weak)


def _is_test_client(call: Call) -> bool:
    """Whether it calls an application in the same process, so the address does not matter."""
    return call.name.startswith("@") and call.name.partition(".")[0].endswith(("client", "app"))


def _address(function: ReachedFunction, node: ast.expr) -> str | None:
    text = string_value(function.facts.value_of(node))
    return text if is_internet_address(text) else None


RULE = LintRule(
    id="FH403",
    name="outside-address",
    cause=Cause.NETWORK,
    title="An address on the internet is passed to a function",
    why="If the code requests that address, the test depends on a server and a network that it does not control.",
    fix="Answer in the process (responses, respx, vcr), or use an address under `example.com` that is never "
    "requested.",
    bad="def test_feed():\n    assert Feed('https://news.ycombinator.com/rss').entries\n",
    good="def test_feed(responses):\n    assert Feed('https://news.example.com/rss').entries == []\n",
    check=in_each_function(_find, in_production=False, unless=is_mocked),
)
