"""The result of lint as SARIF 2.1.0, for code scanning and editors."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

from flakehound.core.predictions import LintResult, Remark, RuleText, UnreadFile
from flakehound.report.lint.messages import message_with_tests, reason_unseen

_SCHEMA = "https://json.schemastore.org/sarif-2.1.0.json"
_FINGERPRINT = "flakehound/v3"
_ROOT_ID = "%SRCROOT%"  # the name of a checkout's root in GitHub and in editors


def sarif(result: LintResult, version: str) -> str:
    """One result for each shown remark, with a fingerprint that survives moved lines; unread files as notes."""
    rule_ids = sorted({remark.finding.rule for remark in result.shown} & set(result.rules))
    driver = {
        "name": "flakehound",
        "semanticVersion": version,
        "rules": [_rule(result.rules[rule_id]) for rule_id in rule_ids],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "originalUriBaseIds": {_ROOT_ID: {"description": {"text": "The root of the project."}}},
        "invocations": [
            {
                "executionSuccessful": True,
                "toolExecutionNotifications": [_notification(file) for file in _not_read(result)],
            }
        ],
        "results": list(_results(result.shown, rule_ids)),
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


def _results(remarks: Sequence[Remark], rule_ids: Sequence[str]) -> Iterator[dict[str, Any]]:
    occurrences: Counter[str] = Counter()
    for remark in remarks:
        finding = remark.finding
        occurrences[finding.fingerprint] += 1
        yield {
            "ruleId": finding.rule,
            **({"ruleIndex": rule_ids.index(finding.rule)} if finding.rule in rule_ids else {}),
            "level": "warning",
            "message": {"text": message_with_tests(remark)},
            "locations": [_location(finding.path, finding.line, finding.column)],
            "properties": {"tests": list(remark.tests)},
            # Numbered as GitHub numbers its own, so equal findings in a function are distinct results.
            "partialFingerprints": {_FINGERPRINT: f"{finding.fingerprint}:{occurrences[finding.fingerprint]}"},
        }


def _not_read(result: LintResult) -> Iterator[UnreadFile]:
    yield from result.unread
    for unseen in result.unseen:
        yield UnreadFile(path=unseen.path, line=unseen.line, reason=reason_unseen(unseen))


def _notification(unread: UnreadFile) -> dict[str, Any]:
    return {
        "level": "warning",
        "message": {"text": f"not read: {unread.reason}"},
        "locations": [_location(unread.path, unread.line, 1)],
    }


def _location(path: str, line: int, column: int) -> dict[str, Any]:
    physical_location = {
        "artifactLocation": {"uri": quote(path), "uriBaseId": _ROOT_ID},
        "region": {"startLine": max(1, line), "startColumn": max(1, column)},
    }
    return {"physicalLocation": physical_location}
