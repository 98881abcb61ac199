"""The result of lint for other programs: JSON and GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flakehound.core.predictions import LintFinding, LintResult, Prediction, Remark, UnseenTests
from flakehound.report.lint.messages import message_with_tests

SCHEMA = "flakehound/lint/1"


def lint_json(result: LintResult) -> str:
    """The result as JSON of the schema `flakehound/lint/1`."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "score_from": result.score_from,
            "model": result.model or None,
            "tests": [_prediction_json(prediction) for prediction in result.predictions],
            "remarks": [_remark_json(remark) for remark in result.remarks],
            "linked": {"share": round(result.linked_share, 4), "by": dict(result.linked_by)},
            "unseen": {
                "tests": [_unseen_json(unseen) for unseen in result.unseen],
                "command": result.command_for_unseen or None,
            },
            "unread": [{"path": file.path, "line": file.line, "reason": file.reason} for file in result.unread],
        },
        indent=1,
    )


def _prediction_json(prediction: Prediction) -> dict[str, Any]:
    return {
        "id": prediction.id,
        "path": prediction.path,
        "line": prediction.line,
        "score": round(prediction.score, 4),
        "nod": _round(prediction.nod),
        "order_dependent": _round(prediction.order_dependent),
        "why": prediction.why or None,
        "linked_to": prediction.linked_to,
        "linked_by": prediction.linked_by,
        "findings": [_finding_json(finding) for finding in prediction.findings],
    }


def _round(chance: float | None) -> float | None:
    return None if chance is None else round(chance, 4)


def _finding_json(finding: LintFinding) -> dict[str, Any]:
    call = {"path": finding.call_path, "line": finding.call_line} if finding.call_path else None
    return {**_place_json(finding), "weak": finding.weak or None, "called_at": call}


def _place_json(finding: LintFinding) -> dict[str, Any]:
    return {
        "rule": finding.rule,
        "cause": finding.cause.value,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "message": finding.message,
    }


def _unseen_json(unseen: UnseenTests) -> dict[str, Any]:
    return {"path": unseen.path, "line": unseen.line, "class": unseen.class_name or None, "tests": unseen.tests}


def _remark_json(remark: Remark) -> dict[str, Any]:
    return {
        **_place_json(remark.finding),
        "tests": list(remark.tests),
        "risk": round(remark.risk, 4),
        "shown": remark.hidden_by is None,
        "hidden_by": None if remark.hidden_by is None else remark.hidden_by.value,
        "weak": remark.finding.weak or None,
        "through": list(remark.finding.via),
        "fingerprint": remark.finding.fingerprint,
    }


def github_annotations(result: LintResult) -> Iterator[str]:
    """The shown remarks as workflow commands of GitHub Actions."""
    for remark in result.shown:
        finding = remark.finding
        rule = result.rules[finding.rule].title if finding.rule in result.rules else finding.rule
        location = f"file={_escape_property(finding.path)},line={finding.line},col={finding.column}"
        title = _escape_property(f"{finding.rule} {rule}")
        yield f"::warning {location},title={title}::{_escape_data(message_with_tests(remark))}"


def _escape_data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _escape_property(text: str) -> str:
    return _escape_data(text).replace(":", "%3A").replace(",", "%2C")
