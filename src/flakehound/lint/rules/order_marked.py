"""A test says itself that it needs a place in the order."""

from __future__ import annotations

import re
from collections.abc import Iterator

from flakehound.core.verdicts import Cause
from flakehound.lint.findings import Rule, Sign
from flakehound.lint.rules._context import Context, Part

_MARKS = ("pytest.mark.order", "pytest.mark.run", "pytest.mark.first", "pytest.mark.last", "pytest.mark.second",
          "pytest.mark.dependency", "pytest.mark.incremental", "pytest.mark.tryfirst", "pytest.mark.trylast",
          "pytest.mark.depends")  # fmt: skip
_NUMBERED = re.compile(r"^test_?(\d{1,4}|[a-z])_+[a-z]", re.I)


def _check(context: Context) -> Iterator[tuple[Part, Sign]]:
    test = context.parts[0]
    marks = [*test.sights.decorators]
    marks += [test.sights.dotted(getattr(one, "func", one)) for one in getattr(test.owner, "decorator_list", [])]
    if any(mark.startswith(_MARKS) for mark in marks):
        yield test, Sign(test.function, "is marked to run at a certain place in the order")
    elif _NUMBERED.match(test.name) and _has_numbered_neighbours(test):
        yield test, Sign(test.function, f"{test.name} is numbered, as if tests ran in the order of their names")


def _has_numbered_neighbours(test: Part) -> bool:
    body = test.owner.body if test.owner else test.surroundings.source.tree.body
    return sum(bool(_NUMBERED.match(getattr(one, "name", ""))) for one in body) > 1


RULE = Rule(
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
