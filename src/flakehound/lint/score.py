"""How likely a test is to be flaky, by what the rules found in it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping

from flakehound.lint.findings import Finding

# Logistic regression on the tests of PyPI projects with labels of Gruber et al. (2021), those kept apart by
# `benchmarks/lint_recall.py` left out; made by its --fit, a penalty of 3 on squares, each project's flaky tests
# weighing as the square root of their number. "" is the constant.
WEIGHTS: Mapping[str, float] = {"": -4.0}


def score(findings: Iterable[Finding], metrics: object | None = None) -> float:
    """The probability that the test is flaky; `metrics` is a table of metrics or None where there is none."""
    found = signals(findings, _values(metrics))
    return probability(WEIGHTS[""] + sum(WEIGHTS.get(name, 0.0) * value for name, value in found))


def signals(findings: Iterable[Finding], metrics: Mapping[str, float | None]) -> Iterator[tuple[str, float]]:
    """What the score is made of: rules by whether the test itself or what it calls breaks them, and sizes."""
    found = list(findings)
    yield from ((name, 1.0) for name in sorted({_name(finding) for finding in found}))
    yield "rules", math.log1p(len({finding.rule for finding in found}))
    yield "causes", math.log1p(len({finding.cause for finding in found}))
    for name in ("test_lines_of_code", "external_modules", "assertions"):
        yield name, math.log1p(max(0.0, metrics.get(name) or 0.0))


def _name(finding: Finding) -> str:
    return f"{finding.rule}, called" if finding.via else finding.rule


def _values(metrics: object | None) -> Mapping[str, float | None]:
    names = ("test_lines_of_code", "external_modules", "assertions")
    return {name: getattr(metrics, name, None) for name in names}


def probability(log_odds: float) -> float:
    """The probability that belongs to log odds, without overflow at either end."""
    if log_odds >= 0:
        return 1 / (1 + math.exp(-log_odds))
    return math.exp(log_odds) / (1 + math.exp(log_odds))
