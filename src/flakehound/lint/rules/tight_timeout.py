"""A timeout that a busy machine can exceed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import Call
from flakehound.lint.facts.surroundings import is_compared, surroundings_in
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign, sign_for
from flakehound.lint.rules._values import number_value

SHORT_S = 2.0  # a busy machine takes that long now and then
TIGHT_S = 10.0  # machines of a hosted service were seen to stall that long
_FUNCTIONS_WITH_TIMEOUT = frozenset(
    {
        "acquire",
        "call",
        "check_call",
        "check_output",
        "communicate",
        "exception",
        "expect",
        "fail_after",
        "get",
        "join",
        "poll",
        "recv",
        "result",
        "run",
        "timeout",
        "until",
        "wait",
        "wait_for",
    }
)
_TIMEOUT_POSITION = {"wait_for": 1, "timeout": 0, "fail_after": 0, "result": 0}


def _timeout_s(call: Call) -> float | None:
    if call.short_name not in _FUNCTIONS_WITH_TIMEOUT or call.name.startswith(
        ("requests.", "httpx.", "pytest.mark")
    ):
        return None
    if call.short_name == "get" and call.node.args:
        return None  # a request or a lookup, and not a queue
    if call.short_name == "timeout" and not call.name.startswith(("asyncio.", "async_timeout.")):
        return None  # an option of another object
    position = _TIMEOUT_POSITION.get(call.short_name)
    timeout = call.keyword("timeout")
    if timeout is None and position is not None and position < len(call.node.args):
        timeout = call.node.args[position]
    return number_value(timeout)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for call in function.facts.calls:
        timeout_s = _timeout_s(call)
        if timeout_s is not None and 0 < timeout_s < TIGHT_S:
            yield sign_for(call, f"{{}} gives up after {timeout_s:g} s", _why_weak(function, call, timeout_s))


def _why_weak(function: ReachedFunction, call: Call, timeout_s: float) -> str:
    around = surroundings_in(function)
    if around.is_expected_to_fail(call.node) or _is_negated(call) or is_compared(function, call.node, "is"):
        return "it is expected to give up"
    if around.is_in_inner_function(call.node):
        return "in an inner function"
    return "" if timeout_s <= SHORT_S else "it rarely takes that long"


def _is_negated(call: Call) -> bool:
    return any(isinstance(parent, ast.UnaryOp) and isinstance(parent.op, ast.Not) for parent in call.parents)


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
