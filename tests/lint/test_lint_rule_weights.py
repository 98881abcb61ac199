"""The counts of findings that a model learns from."""

from __future__ import annotations

from flakehound.core.predictions import LintFinding
from flakehound.lint.rules.registry import all_rules
from flakehound.lint.scoring.rule_weights import WITHOUT_LIFT, finding_counts

RULES = {rule.id: rule for rule in all_rules()}


def finding(rule):
    return LintFinding(
        rule=rule,
        cause=RULES[rule].cause,
        path="test_a.py",
        line=1,
        column=1,
        message="",
        test_id="test_a.py::test",
    )


def test_findings_of_rules_without_lift_do_not_count():
    counts = finding_counts([finding("FH401"), finding("FH401"), *map(finding, sorted(WITHOUT_LIFT))])

    assert (counts["findings"], counts["rules"], counts["causes"]) == (2, 1, 1)


def test_every_rule_without_lift_exists():
    assert RULES.keys() >= WITHOUT_LIFT
