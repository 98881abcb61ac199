"""Lint for other programs: our JSON, GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flakehound.core.predictions import LintFinding, LintResult, Prediction

SCHEMA = "flakehound/lint/1"


def lint_json(result: LintResult) -> str:
    """`flakehound/lint/1`."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "score_from": result.score_from,
            "model": result.model or None,
            "tests": [_test(one) for one in result.predictions],
            "linked": {"share": round(result.linked_share, 4), "by": dict(result.linked_by)},
            "unread": [{"path": one.path, "line": one.line, "reason": one.reason} for one in result.unread],
        },
        indent=1,
    )


def _test(one: Prediction) -> dict[str, Any]:
    return {
        "id": one.id,
        "path": one.path,
        "line": one.line,
        "score": round(one.score, 4),
        "nod": _rounded(one.nod),
        "order_dependent": _rounded(one.order_dependent),
        "why": one.why or None,
        "linked_to": one.linked_to,
        "linked_by": one.linked_by,
        "findings": [_finding(finding) for finding in one.findings],
    }


def _rounded(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 4)


def _finding(finding: LintFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "cause": finding.cause.value,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
    }


def github_annotations(result: LintResult) -> Iterator[str]:
    """Workflow commands of GitHub Actions."""
    for finding in result.findings:
        title = result.rules[finding.rule].title if finding.rule in result.rules else finding.rule
        where = f"file={_property(finding.path)},line={finding.line},col={finding.column}"
        yield f"::warning {where},title={_property(f'{finding.rule} {title}')}::{_data(finding.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
