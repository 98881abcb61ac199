"""Decide which remarks are shown by default: those that a project should read first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from flakehound.core.predictions import HiddenBy, Remark
from flakehound.lint.rules._proven_lift import PROVEN_LIFT

# At most one remark per so many tests: a list that is longer than this is not read to its end (issue 22).
TESTS_PER_REMARK = 10
_MAX_LIFT = 3.0  # higher ones come from a handful of tests
MIN_LIMIT = 5  # remarks of a small project that the limit never hides


def with_default_view(remarks: Sequence[Remark], tests: int, rules: Sequence[str] = ()) -> tuple[Remark, ...]:
    """The remarks of a project of so many tests, each with the reason why it is hidden.

    `rules` are ids, or first letters of ids, that the user asks for: their remarks are not hidden for their rule.
    """
    reasons = [_hidden_by(remark, tuple(rules)) for remark in remarks]
    candidates = [remark for remark, reason in zip(remarks, reasons, strict=True) if reason is None]
    best = sorted(candidates, key=_rank)[: max(MIN_LIMIT, tests // TESTS_PER_REMARK)]
    kept = {id(remark) for remark in best}
    return tuple(
        replace(remark, hidden_by=reason if reason or id(remark) in kept else HiddenBy.LIMIT)
        for remark, reason in zip(remarks, reasons, strict=True)
    )


def _hidden_by(remark: Remark, asked_rules: tuple[str, ...]) -> HiddenBy | None:
    rule = remark.finding.rule
    if _lift(remark) <= 1.0 and not (asked_rules and rule.startswith(asked_rules)):
        return HiddenBy.RULE
    return HiddenBy.PLACE if remark.finding.weak else None


def _rank(remark: Remark) -> tuple[float, str, int]:
    """The best remarks first: by how much likelier its rule and its tests make a failure."""
    return -min(_lift(remark), _MAX_LIFT) * remark.risk, remark.finding.path, remark.finding.line


def _lift(remark: Remark) -> float:
    return PROVEN_LIFT.get(remark.finding.rule, 0.0)
