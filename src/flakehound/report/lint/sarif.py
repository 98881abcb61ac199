"""Lint as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from flakehound.core.predictions import LintFinding, LintResult, RuleText, UnreadFile

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "flakehound/v2"
_ROOT = "%SRCROOT%"  # the name that GitHub and editors give the root of a checkout


def sarif(result: LintResult, version: str) -> str:
    """One result per finding, with fingerprints that outlive moved lines; files not read are notifications."""
    used = sorted({finding.rule for finding in result.findings} & set(result.rules))
    driver = {
        "name": "flakehound",
        "semanticVersion": version,
        "rules": [_rule(result.rules[rule]) for rule in used],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT: {"description": {"text": "The root of the project."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(one) for one in result.unread],
            }
        ],
        "results": list(_results(result.findings, used)),
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=1)


def _rule(rule: RuleText) -> dict[str, Any]:
    return {
        "id": rule.id,
        "name": rule.name,
        "shortDescription": {"text": rule.title},
        "fullDescription": {"text": rule.why},
        "help": {"text": f"{rule.why}\n\n{rule.fix}"},
        "defaultConfiguration": {"level": "warning"},
        "properties": {"tags": ["flaky-test", rule.cause.value]},
    }


def _results(remarks: Sequence[LintFinding], used: Sequence[str]) -> Iterator[dict[str, Any]]:
    seen: Counter[str] = Counter()
    for finding in remarks:
        seen[finding.fingerprint] += 1
        yield {
            "ruleId": finding.rule,
            **({"ruleIndex": used.index(finding.rule)} if finding.rule in used else {}),
            "level": "warning",
            "message": {"text": finding.message},
            "locations": [_location(finding.path, finding.line, finding.column)],
            # Counted as GitHub counts its own: two alike in one function are two results.
            "partialFingerprints": {_FINGERPRINT: f"{finding.fingerprint}:{seen[finding.fingerprint]}"},
        }


def _notification(unread: UnreadFile) -> dict[str, Any]:
    return {
        "level": "warning",
        "message": {"text": f"not read: {unread.reason}"},
        "locations": [_location(unread.path, unread.line, 1)],
    }


def _location(path: str, line: int, column: int) -> dict[str, Any]:
    place = {
        "artifactLocation": {"uri": quote(path), "uriBaseId": _ROOT},
        "region": {"startLine": max(1, line), "startColumn": max(1, column)},
    }
    return {"physicalLocation": place}
