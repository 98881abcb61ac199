"""How likely a test is to be flaky, by what the rules found in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

from flakehound.core.predictions import LintFinding
from flakehound.core.statistics.rates import probability
from flakehound.core.verdicts import Cause

# Logistic regression on the tests of PyPI projects with labels of Gruber et al. (2021), without the projects that
# `benchmarks/lint_recall.py` keeps apart; made by its --fit. "" is the constant. One weight for each rule was
# tried: it ranks the tests of other projects worse than the bare number of rules and causes. See decision 0016.
WEIGHTS: Mapping[str, float] = {
    "": -3.38,
    "rules": 0.50,
    "causes": 0.48,
    "test_lines_of_code": 0.05,
    "external_modules": 0.17,
    "assertions": -0.08,
}
_SIZES = ("test_lines_of_code", "external_modules", "assertions")


def rule_score(findings: Iterable[LintFinding], metrics: Mapping[str, float | None]) -> float:
    """The probability that the test is flaky; `metrics` is its row of metrics."""
    found = signals(findings, metrics)
    return probability(WEIGHTS[""] + sum(WEIGHTS[name] * value for name, value in found.items()))


def signals(findings: Iterable[LintFinding], metrics: Mapping[str, float | None]) -> dict[str, float]:
    """The terms of the score: how many rules and causes have findings, and how large the test is (logarithms)."""
    found = list(findings)
    finding_counts = {"rules": len({one.rule for one in found}), "causes": len({one.cause for one in found})}
    sizes = {name: max(0.0, metrics.get(name) or 0.0) for name in _SIZES}
    return {name: math.log1p(number) for name, number in {**finding_counts, **sizes}.items()}


def finding_counts(findings: Iterable[LintFinding]) -> dict[str, int]:
    """How many rules and causes have findings, and how many rules for each cause; inputs of a model."""
    found = list(findings)
    by_cause = {cause: {one.rule for one in found if one.cause is cause} for cause in Cause}
    return {
        "findings": len(found),
        "rules": len({one.rule for one in found}),
        "causes": sum(map(bool, by_cause.values())),
        **{f"rules_{cause.value.replace('-', '_')}": len(rules) for cause, rules in by_cause.items()},
    }
