"""Lint for other programs: our JSON, SARIF 2.1.0, GitHub annotations."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from flakehound.core.predictions import Linted, Remark, RuleText
from flakehound.core.signatures import without_volatile_parts

SCHEMA = "flakehound/lint/1"
_SARIF = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "flakehound/v1"


def lint_json(linted: Linted) -> str:
    """`flakehound/lint/1`."""
    return json.dumps(
        {
            "schema": SCHEMA,
            "tests": [
                {
                    "id": one.id,
                    "path": one.path,
                    "line": one.line,
                    "score": round(one.score, 4),
                    "findings": [_finding(remark) for remark in one.remarks],
                }
                for one in linted.predictions
            ],
            "unread": [{"path": one.path, "line": one.line, "reason": one.reason} for one in linted.unread],
        },
        indent=1,
    )


def _finding(remark: Remark) -> dict[str, Any]:
    return {
        "rule": remark.rule,
        "cause": remark.cause,
        "path": remark.path,
        "line": remark.line,
        "column": remark.column,
        "message": remark.message,
    }


def sarif(linted: Linted, version: str) -> str:
    """SARIF 2.1.0, one result per remark, with fingerprints that outlive moved lines."""
    used = sorted({remark.rule for remark in linted.remarks} & set(linted.rules))
    driver = {
        "name": "flakehound",
        "version": version,
        "rules": [_sarif_rule(linted.rules[rule]) for rule in used],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {"ROOT": {"description": {"text": "The root of the project."}}},
        "results": [_sarif_result(remark, used) for remark in linted.remarks],
    }
    return json.dumps({"$schema": _SARIF, "version": "2.1.0", "runs": [run]}, indent=1)


def _sarif_rule(rule: RuleText) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\n{rule.fix}"},
        "defaultConfiguration": {"level": "warning"},
    }


def _sarif_result(remark: Remark, used: list[str]) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": _uri(remark.path), "uriBaseId": "ROOT"},
        "region": {"startLine": max(1, remark.line), "startColumn": max(1, remark.column)},
    }
    return {
        "ruleId": remark.rule,
        **({"ruleIndex": used.index(remark.rule)} if remark.rule in used else {}),
        "level": "warning",
        "message": {"text": remark.message},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {_FINGERPRINT: remark.fingerprint or _fallback(remark)},
    }


def _fallback(remark: Remark) -> str:
    return f"{remark.rule}:{remark.path}:{without_volatile_parts(remark.message)}"


def _uri(path: str) -> str:
    from urllib.parse import quote

    return quote(path)


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
