"""Score how likely a test is flaky by its findings and its size, with fixed weights."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from flakehound.core.predictions import LintFinding
from flakehound.core.statistics.rates import logistic
from flakehound.core.verdicts import Cause

# Logistic regression on tests of PyPI projects with the labels of Gruber et al. (2021), fitted by
# `benchmarks/lint_recall.py --fit` without the projects that it keeps for evaluation. "" is the constant. With one
# weight for each rule, tests of other projects were ranked worse than by these numbers. See decision 0016.
WEIGHTS: Mapping[str, float] = {
    "": -3.38,
    "rules": 0.50,
    "causes": 0.48,
    "test_lines_of_code": 0.05,
    "external_modules": 0.17,
    "assertions": -0.08,
}
_SIZE_METRICS = ("test_lines_of_code", "external_modules", "assertions")


def rule_score(findings: Iterable[LintFinding], metrics: Mapping[str, float | None]) -> float:
    """The probability that the test is flaky; `metrics` are its metrics by name."""
    terms = signals(findings, metrics)
    return logistic(WEIGHTS[""] + sum(WEIGHTS[name] * value for name, value in terms.items()))


def signals(findings: Iterable[LintFinding], metrics: Mapping[str, float | None]) -> dict[str, float]:
    """The terms of the score: logarithms of the numbers of rules and causes with findings, and of the sizes."""
    all_findings = list(findings)
    counts = {
        "rules": len({finding.rule for finding in all_findings}),
        "causes": len({finding.cause for finding in all_findings}),
    }
    sizes = {name: max(0.0, metrics.get(name) or 0.0) for name in _SIZE_METRICS}
    return {name: math.log1p(number) for name, number in {**counts, **sizes}.items()}


# Rules whose findings are rarer in flaky tests than in others of the same project, for both kinds: lift within
# projects below 0.9 on the projects that models are chosen on (`benchmarks/lint_rule_lift.py --split choice`),
# where at least one flaky test was to be expected. They may be right about the code; they do not raise the score.
WITHOUT_LIFT = frozenset({"FH302", "FH505", "FH601", "FH603", "FH803", "FH908"})


def finding_counts(findings: Iterable[LintFinding]) -> dict[str, int]:
    """Inputs of a model: how many rules and causes have findings, and how many rules of each cause."""
    all_findings = [finding for finding in findings if finding.rule not in WITHOUT_LIFT]
    by_cause = {cause: {finding.rule for finding in all_findings if finding.cause is cause} for cause in Cause}
    return {
        "findings": len(all_findings),
        "rules": len({finding.rule for finding in all_findings}),
        "causes": sum(map(bool, by_cause.values())),
        **{f"rules_{cause.value.replace('-', '_')}": len(rules) for cause, rules in by_cause.items()},
    }
