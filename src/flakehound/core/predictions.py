"""The result of linting a project: findings, remarks, scores of tests, and what could not be read."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum

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
    # Where test code calls the production code that has the finding; "" and 0 if it is in test code.
    call_path: str = ""
    call_line: int = 0
    weak: str = ""  # why it says little about this test, "in a constructor"; "" if it is shown by default

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


class HiddenBy(Enum):
    """Why a remark is not shown by default."""

    RULE = "rule"  # findings of its rule do not make a test likelier to be flaky
    PLACE = "place"  # every finding is weak
    LIMIT = "limit"  # the project has better ones


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """The findings of one rule at one line of the source."""

    finding: LintFinding  # the one with the shortest way from a test; strong ones come before weak ones
    tests: tuple[NodeId, ...]  # that reach the line, in pytest's order
    risk: float  # the highest score of these tests
    hidden_by: HiddenBy | None = None  # None: shown by default


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
class UnseenTests:
    """A class or a file with functions named like tests that pytest's own rules do not collect."""

    path: str
    line: int
    class_name: str  # "" for a file
    tests: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """Everything that one run of lint found."""

    predictions: tuple[Prediction, ...]
    remarks: tuple[Remark, ...]  # all, also those that are hidden by default; ordered by file and line
    rules: Mapping[str, RuleText]  # by id
    unread: tuple[UnreadFile, ...] = ()
    unseen: tuple[UnseenTests, ...] = ()
    command_for_unseen: str = ""  # that reads the unseen tests, too
    tests_read: int = 0  # in the chosen files, also those that are not reported
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
        """One finding for each remark, also for those that are hidden by default."""
        return tuple(remark.finding for remark in self.remarks)

    @property
    def shown(self) -> tuple[Remark, ...]:
        """The remarks that are shown by default."""
        return tuple(remark for remark in self.remarks if remark.hidden_by is None)

    @property
    def riskiest(self) -> list[Prediction]:
        """All tests, the likeliest to be flaky first."""
        return sorted(self.predictions, key=lambda prediction: -prediction.score)


def remarks_of(predictions: Iterable[Prediction]) -> tuple[Remark, ...]:
    """The remarks about all tests, ordered by file and line."""
    groups: dict[tuple[str, int, str], list[tuple[Prediction, LintFinding]]] = {}
    for prediction in predictions:
        for finding in prediction.findings:
            groups.setdefault((finding.path, finding.line, finding.rule), []).append((prediction, finding))
    return tuple(_remark(groups[key]) for key in sorted(groups))


def _remark(group: list[tuple[Prediction, LintFinding]]) -> Remark:
    findings = (finding for _prediction, finding in group)
    return Remark(
        finding=min(findings, key=lambda finding: (bool(finding.weak), len(finding.via), finding.column)),
        tests=tuple(dict.fromkeys(prediction.id for prediction, _finding in group)),
        risk=max(prediction.score for prediction, _finding in group),
    )
