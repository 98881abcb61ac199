"""A limit that a busy machine can exceed."""

from __future__ import annotations

from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import number_value

TIGHT_S = 10.0  # a stalled machine on a hosted service was seen to stand still that long
_LIMITED = frozenset(
    ("wait_for", "result", "get", "join", "wait", "communicate", "run", "check_output", "check_call", "call",
        "acquire",
     "timeout", "fail_after", "move_on_after", "expect", "until", "exception", "recv", "poll")
)  # fmt: skip
_POSITION = {"wait_for": 1, "timeout": 0, "fail_after": 0, "move_on_after": 0, "result": 0}


def _limit(call: Call) -> float | None:
    if call.short_name not in _LIMITED or call.name.startswith(("requests.", "httpx.", "pytest.mark")):
        return None
    position = _POSITION.get(call.short_name)
    found = call.keyword("timeout")
    if found is None and position is not None and position < len(call.node.args):
        found = call.node.args[position]
    return number_value(found)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        limit = _limit(call)
        if limit is not None and 0 < limit < TIGHT_S:
            yield sign_for(call, f"{{}} gives up after {limit:g} s")


RULE = LintRule(
    id="FH303",
    name="tight-timeout",
    cause=Cause.ASYNC_WAIT,
    title="A short limit on waiting",
    why="The limit is part of the assertion: where the machine stalls longer, the test fails without a fault.",
    fix="Make the limit so long that only a hang exceeds it (a minute); it costs nothing when all is well.",
    bad="def test_answer(pool):\n    assert pool.submit(sum, [1, 2]).result(timeout=0.5) == 3\n",
    good="def test_answer(pool):\n    assert pool.submit(sum, [1, 2]).result(timeout=60) == 3\n",
    check=in_each_function(_find, in_production=False),
)
