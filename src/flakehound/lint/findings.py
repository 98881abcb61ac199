"""What lint says about a test, and the rules that say it."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause

if TYPE_CHECKING:
    from flakehound.lint.rules._context import Context, Part


@dataclass(frozen=True, slots=True)
class Sign:
    """What a rule noticed in one function; the place is the node's."""

    node: ast.AST
    message: str


Check = Callable[["Context"], Iterable[tuple["Part", Sign]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One cause of flakiness that can be read off the source."""

    id: str
    name: str
    cause: Cause
    title: str
    why: str
    fix: str
    bad: str  # a whole test file that the rule finds
    good: str  # the same, put right
    check: Check

    def findings(self, context: Context) -> Iterator[LintFinding]:
        """What the rule says about one test, each place once."""
        seen: set[tuple[str, int]] = set()
        for part, sign in self.check(context):
            finding = self._finding(context, part, sign)
            if (finding.path, finding.line) not in seen:
                seen.add((finding.path, finding.line))
                yield finding

    def _finding(self, context: Context, part: Part, sign: Sign) -> LintFinding:
        line, column = part.place_of(sign.node)
        return LintFinding(
            rule=self.id,
            cause=self.cause,
            path=part.shown_path,
            line=line,
            column=column,
            message=sign.message + part.how_reached(sign.node),
            test_id=context.case_id,
            via=part.via,
        )
