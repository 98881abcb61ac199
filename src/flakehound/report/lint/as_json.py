"""Lint for other programs: our JSON, GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flakehound.core.predictions import Linted, Prediction, Remark

SCHEMA = "flakehound/lint/1"


def lint_json(linted: Linted) -> str:
    """`flakehound/lint/1`."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "score_from": linted.score_from,
            "model": linted.model or None,
            "tests": [_test(one) for one in linted.predictions],
            "linked": {"share": round(linted.linked_share, 4), "by": dict(linted.linked_by)},
            "unread": [{"path": one.path, "line": one.line, "reason": one.reason} for one in linted.unread],
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
        "findings": [_finding(remark) for remark in one.remarks],
    }


def _rounded(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 4)


def _finding(remark: Remark) -> dict[str, Any]:
    return {
        "rule": remark.rule,
        "cause": remark.cause,
        "path": remark.path,
        "line": remark.line,
        "column": remark.column,
        "message": remark.message,
    }


def github_annotations(linted: Linted) -> Iterator[str]:
    """Workflow commands of GitHub Actions."""
    for remark in linted.remarks:
        title = linted.rules[remark.rule].title if remark.rule in linted.rules else remark.rule
        where = f"file={_property(remark.path)},line={remark.line},col={remark.column}"
        yield f"::warning {where},title={_property(f'{remark.rule} {title}')}::{_data(remark.message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
