"""How likely a test is to be flaky, by what the rules found in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from flakehound.lint.findings import Finding

# Logistic regression on tests of 159 PyPI projects with labels of Gruber et al. (2021); left out are the projects
# that `benchmarks/lint_recall.py` keeps apart and those with more than 150 tests. Made by its --fit --most 150, a
# penalty of 3 on squares, each project's flaky tests weighing as the square root of their number. "" is the
# constant.
WEIGHTS: Mapping[str, float] = {
    "": -4.01,
    "FH101": 0.04,
    "FH101, called": -0.00,
    "FH102": 0.12,
    "FH102, called": -0.24,
    "FH104": 0.03,
    "FH104, called": 0.49,
    "FH105": 0.04,
    "FH201": -0.31,
    "FH201, called": -0.51,
    "FH202": -0.08,
    "FH202, called": -0.00,
    "FH203": 0.53,
    "FH301": -0.15,
    "FH301, called": -0.03,
    "FH302": -0.12,
    "FH302, called": 0.13,
    "FH303": -0.16,
    "FH303, called": 0.15,
    "FH311": -0.10,
    "FH311, called": -0.15,
    "FH312": -0.09,
    "FH312, called": -0.00,
    "FH313": 0.16,
    "FH313, called": 0.20,
    "FH401": -0.26,
    "FH401, called": 0.39,
    "FH402": -0.07,
    "FH402, called": -0.21,
    "FH403": -0.34,
    "FH403, called": 0.17,
    "FH404": -0.16,
    "FH404, called": -0.56,
    "FH501": 0.06,
    "FH501, called": -0.32,
    "FH502": 0.19,
    "FH502, called": -0.60,
    "FH503": 0.07,
    "FH503, called": 0.82,
    "FH504": 0.23,
    "FH504, called": -0.33,
    "FH505": -0.30,
    "FH505, called": -0.69,
    "FH601": -0.05,
    "FH601, called": -0.10,
    "FH602": -0.22,
    "FH602, called": -0.25,
    "FH603": -0.02,
    "FH603, called": -0.19,
    "FH701": -0.41,
    "FH701, called": -0.12,
    "FH801": -0.03,
    "FH801, called": -0.15,
    "FH802": -0.08,
    "FH802, called": 0.03,
    "FH803": 0.14,
    "FH803, called": -0.44,
    "FH901": 0.81,
    "FH901, called": -0.26,
    "FH902": -0.02,
    "FH902, called": -0.33,
    "FH903": 0.30,
    "FH903, called": 0.03,
    "FH904": -0.29,
    "FH904, called": 0.79,
    "FH906": 0.05,
    "FH906, called": 0.14,
    "FH907, called": -0.37,
    "FH908": 0.11,
    "FH908, called": -0.35,
    "FH909": -0.32,
    "FH910": -0.41,
    "FH912": 0.31,
    "FH912, called": -0.09,
    "FH913, called": -0.23,
    "assertions": -0.15,
    "causes": 0.67,
    "external_modules": -0.16,
    "rules": 0.54,
    "test_lines_of_code": 0.28,
}


def score(findings: Iterable[Finding], metrics: Mapping[str, Any]) -> float:
    """The probability that the test is flaky; `metrics` is its row of metrics."""
    found = signals(findings, metrics)
    return probability(WEIGHTS[""] + sum(WEIGHTS.get(name, 0.0) * value for name, value in found))


def signals(findings: Iterable[Finding], metrics: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """What the score is made of: rules by whether the test itself or what it calls breaks them, and sizes."""
    found = list(findings)
    yield from ((name, 1.0) for name in sorted({_name(finding) for finding in found}))
    yield "rules", math.log1p(len({finding.rule for finding in found}))
    yield "causes", math.log1p(len({finding.cause for finding in found}))
    for name in ("test_lines_of_code", "external_modules", "assertions"):
        yield name, math.log1p(max(0.0, metrics.get(name) or 0.0))


def _name(finding: Finding) -> str:
    return f"{finding.rule}, called" if finding.via else finding.rule


def probability(log_odds: float) -> float:
    """The probability that belongs to log odds, without overflow at either end."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))
