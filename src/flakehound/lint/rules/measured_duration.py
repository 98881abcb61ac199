"""An assertion on how long something took."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import ReachedFunction
from flakehound.lint.facts.functions import ValueComparison
from flakehound.lint.rules._checks import in_each_function
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules.wall_clock import is_frozen
from flakehound.lint.source.syntax_walk import nodes_of

_CLOCKS = (
    "datetime.datetime.now",
    "time.monotonic",
    "time.perf_counter",
    "time.process_time",
    "time.time",
    "timeit.",
)
_DURATION_NAME = re.compile(
    r"elapsed|duration|took|run_?time|time_?taken|time_?diff|^delta_?t|time_spent|speedup", re.I
)


def _find(function: ReachedFunction) -> Iterator[Sign]:
    for comparison in function.facts.comparisons:
        if comparison.relation in ("less", "near", "equal") and any(
            _is_duration(function, side, comparison) for side in comparison.sides
        ):
            yield Sign(comparison.node, "compares how long something took")


def _is_duration(function: ReachedFunction, side: ast.expr, comparison: ValueComparison) -> bool:
    if comparison.relation == "equal" and isinstance(side, ast.Constant):
        return False
    if isinstance(side, ast.Name | ast.Attribute) and comparison.relation == "less":
        name = side.id if isinstance(side, ast.Name) else side.attr
        if _DURATION_NAME.search(name):
            return True
    value = function.facts.value_of(side)
    differences = [
        node for node in nodes_of(value) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)
    ]
    return any(
        name.startswith(_CLOCKS) for difference in differences for name in function.facts.names_in(difference)
    )


RULE = LintRule(
    id="FH203",
    name="measured-duration",
    cause=Cause.TIME,
    title="An assertion on elapsed time",
    why="A busy machine stretches any duration; no limit that is tight enough to mean something always holds.",
    fix="Assert what happened and not how long it took; measure speed in a benchmark.",
    bad="import time\n\ndef test_fast():\n    start = time.perf_counter()\n    work()\n"
    "    assert time.perf_counter() - start < 0.1\n",
    good="def test_fast():\n    assert work().steps < 100\n",
    check=in_each_function(_find, in_production=False, unless=is_frozen),
)
