"""An assertion on how long something took."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Part, in_each
from flakehound.lint.rules._function_facts import Comparison
from flakehound.lint.rules.wall_clock import is_frozen
from flakehound.lint.source.syntax_walk import nodes_of

_CLOCKS = (
    "time.time",
    "time.perf_counter",
    "time.monotonic",
    "time.process_time",
    "timeit.",
    "datetime.datetime.now",
)
_NAMES = re.compile(r"elapsed|duration|took|run_?time|time_?taken|time_?diff|^delta_?t|time_spent|speedup", re.I)


def _look(part: Part) -> Iterator[Sign]:
    for one in part.sights.comparisons:
        if one.how in ("less", "near", "equal") and any(_is_duration(part, side, one) for side in one.sides):
            yield Sign(one.node, "compares how long something took")


def _is_duration(part: Part, side: ast.expr, comparison: Comparison) -> bool:
    if comparison.how == "equal" and isinstance(side, ast.Constant):
        return False
    if isinstance(side, ast.Name | ast.Attribute) and comparison.how == "less":
        name = side.id if isinstance(side, ast.Name) else side.attr
        if _NAMES.search(name):
            return True
    value = part.sights.value_of(side)
    minuses = [node for node in nodes_of(value) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub)]
    return any(root.startswith(_CLOCKS) for minus in minuses for root in part.sights.roots_of(minus))


RULE = Rule(
    id="FH203",
    name="measured-duration",
    cause=Cause.TIME,
    title="An assertion on elapsed time",
    why="A busy machine stretches any duration; no limit that is tight enough to mean something always holds.",
    fix="Assert what happened and not how long it took; measure speed in a benchmark.",
    bad="import time\n\ndef test_fast():\n    start = time.perf_counter()\n    work()\n"
    "    assert time.perf_counter() - start < 0.1\n",
    good="def test_fast():\n    assert work().steps < 100\n",
    check=in_each(_look, production=False, unless=is_frozen),
)
