"""The type of all rules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from flakehound.core.predictions import LintFinding
from flakehound.core.verdicts import Cause
from flakehound.lint.facts.case_context import CaseContext, ReachedFunction
from flakehound.lint.rules._checks import Check
from flakehound.lint.rules._signs import Sign
from flakehound.lint.rules._sites import weakness_of


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """One cause of flakiness that can be found in the source."""

    id: str
    name: str
    cause: Cause
    title: str
    why: str
    fix: str
    bad: str  # a whole test file with a finding of the rule
    good: str  # the same file, fixed
    check: Check

    def findings(self, context: CaseContext) -> Iterator[LintFinding]:
        """The findings of the rule in one test, one for each line."""
        reported_lines: set[tuple[str, int]] = set()
        for function, sign in self.check(context):
            finding = self._finding(context, function, sign)
            if (finding.path, finding.line) not in reported_lines:
                reported_lines.add((finding.path, finding.line))
                yield finding

    def _finding(self, context: CaseContext, function: ReachedFunction, sign: Sign) -> LintFinding:
        place = function.place_of(sign.node)
        return LintFinding(
            rule=self.id,
            cause=self.cause,
            path=place.path,
            line=place.line,
            column=place.column,
            message=sign.message,
            test_id=context.test_id,
            via=function.via,
            call_path=function.called_at.path if function.called_at else "",
            call_line=function.called_at.line if function.called_at else 0,
            weak=weakness_of(function, sign.node) or sign.weak,
        )
