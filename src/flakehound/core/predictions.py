"""The result of linting a project: findings, scores of tests, and files that could not be parsed."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import Cause

_LINE_NUMBER = re.compile(r":\d+")


@dataclass(frozen=True, slots=True, kw_only=True)
class LintFinding:
    """One reason why one test may be flaky, at one place in the source."""

    rule: str  # "FH101"
    cause: Cause
    path: str
    line: int
    column: int  # from 1, as editors count
    message: str
    test_id: str
    via: tuple[str, ...] = ()  # functions called between the test and the place; () is the test itself
    scope: str = ""  # the definition around the line, "TestCart.test_total"; "" if it was not looked up

    @property
    def fingerprint(self) -> str:
        """A hash of where the finding is that does not change when lines move.

        Equal findings in one function share it. The test is not part of it, because a finding in a fixture is the
        same for all tests that use the fixture.
        """
        parts = (self.rule, self.path, self.scope, _LINE_NUMBER.sub("", self.message))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:24]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """How likely one test is to be flaky, predicted from its source alone."""

    id: NodeId
    path: str
    line: int
    score: float  # probability that it is flaky
    nod: float | None = None  # probability of that kind; None without a model
    order_dependent: float | None = None
    why: str = ""  # the signals that raise the score most, in one line; "" without a model
    linked_to: str | None = None  # the code it tests, "shop/cart.py:Cart.total"; None if none was found
    linked_by: str | None = None  # "naming", "imports" or "module"
    findings: tuple[LintFinding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """A rule as reports show it."""

    id: str
    name: str
    title: str
    why: str
    fix: str
    cause: Cause


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadFile:
    """A file that could not be parsed."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """Everything that one run of lint found."""

    predictions: tuple[Prediction, ...]
    rules: Mapping[str, RuleText]  # by id
    unread: tuple[UnreadFile, ...] = ()
    baselined: int = 0  # findings left out because the baseline lists them
    suppressed: int = 0  # findings left out because of a comment in the source
    score_from: str = "rules"  # or "model"
    model: str = ""  # "default", or the file of the model; "" if scored by rules

    @property
    def flagged(self) -> list[Prediction]:
        """The tests with a finding, the likeliest to be flaky first."""
        with_findings = (prediction for prediction in self.predictions if prediction.findings)
        return sorted(with_findings, key=lambda prediction: -prediction.score)

    @property
    def linked_by(self) -> Mapping[str, int]:
        """How many tests were linked to the code they test, by how that code was found."""
        return Counter(test.linked_by for test in self.predictions if test.linked_by is not None)

    @property
    def linked_share(self) -> float:
        """The share of the tests that are linked to the code they test; 0 without tests."""
        return sum(self.linked_by.values()) / len(self.predictions) if self.predictions else 0.0

    @property
    def findings(self) -> tuple[LintFinding, ...]:
        """Each finding once, ordered by file and line, although many tests can share a finding in a fixture."""
        unique = {(f.path, f.line, f.rule, f.message): f for test in self.predictions for f in test.findings}
        return tuple(unique[key] for key in sorted(unique))
