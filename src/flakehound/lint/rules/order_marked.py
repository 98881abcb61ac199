"""A mark or a number in its name says that a test needs a certain place in the order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import Hit
from flakehound.lint.rules._rule import LintRule
from flakehound.lint.rules._signs import Sign

_ORDER_MARKS = (
    "pytest.mark.dependency",
    "pytest.mark.depends",
    "pytest.mark.first",
    "pytest.mark.incremental",
    "pytest.mark.last",
    "pytest.mark.order",
    "pytest.mark.run",
    "pytest.mark.second",
    "pytest.mark.tryfirst",
    "pytest.mark.trylast",
)
_NUMBERED_NAME = re.compile(r"^test_?(\d{1,4})_+[a-z]", re.I)
_MAX_FIRST_NUMBER = 1


def _check(context: CaseContext) -> Iterator[Hit]:
    test = context.functions[0]
    class_decorators = getattr(test.owner, "decorator_list", [])
    marks = [*test.facts.decorators]
    marks += [test.facts.dotted_name(getattr(decorator, "func", decorator)) for decorator in class_decorators]
    if any(mark.startswith(_ORDER_MARKS) for mark in marks):
        yield test, Sign(test.node, "is marked to run at a certain place in the order")
    elif _NUMBERED_NAME.match(test.name) and _has_numbered_neighbours(test):
        yield test, Sign(test.node, f"{test.name} is numbered, as if tests ran in the order of their names")


def _has_numbered_neighbours(test: ReachedFunction) -> bool:
    body = test.owner.body if test.owner else test.module.source.tree.body
    matches = (_NUMBERED_NAME.match(getattr(node, "name", "")) for node in body)
    numbers = [int(match[1]) for match in matches if match]
    # `test_310_union` is about Python 3.10, and `test_2_args` counts arguments.
    is_sequence = len(set(numbers)) > 1 and min(numbers) <= _MAX_FIRST_NUMBER
    return (is_sequence and numbers == sorted(numbers)) or _has_steps_of_ten(numbers)


def _has_steps_of_ten(numbers: list[int]) -> bool:
    return numbers[:2] in ([10, 20], [100, 200]) and all(number % 10 == 0 for number in numbers)


RULE = LintRule(
    id="FH909",
    name="order-marked",
    cause=Cause.TEST_ORDER,
    title="The test needs a place in the order",
    why="It builds on what earlier tests left; run alone, in parallel or shuffled, it fails.",
    fix="Put what the earlier tests prepare into a fixture.",
    bad="def test_1_login(site):\n    site.login()\n\ndef test_2_logout(site):\n    site.logout()\n",
    good="def test_login(site):\n    site.login()\n\ndef test_logout(logged_in):\n    logged_in.logout()\n",
    check=_check,
)
