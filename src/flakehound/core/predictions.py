"""What lint says, in words that every report shares."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flakehound.core.outcomes import NodeId


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """One reason why a test may flake, at one place."""

    rule: str  # "FH101"
    cause: str  # a word of `core.verdicts.Cause`
    path: str
    line: int
    column: int  # from 1
    message: str
    fingerprint: str = ""  # the same when lines move


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """One test, read and not run."""

    id: NodeId
    path: str
    line: int
    score: float  # probability that it is flaky
    nod: float | None = None  # probability of that kind; None where no model says it
    order_dependent: float | None = None
    why: str = ""  # what the score owes most to, in one line; "" where no model says it
    linked_to: str | None = None  # the code it tests, "shop/cart.py:Cart.total"; None where nothing was found
    linked_by: str | None = None  # "naming", "imports" or "module"
    remarks: tuple[Remark, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleText:
    """A rule as a reader meets it."""

    id: str
    name: str
    title: str
    why: str
    fix: str
    cause: str  # a word of `core.verdicts.Cause`


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """A file that could not be parsed."""

    path: str
    line: int
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Linted:
    """Everything one run of lint says."""

    predictions: Sequence[Prediction]
    rules: Mapping[str, RuleText]  # by id
    unread: Sequence[Unread] = ()
    baselined: int = 0  # remarks that the baseline knows
    suppressed: int = 0
    score_from: str = "rules"  # or "model"
    model: str = ""  # "default", or the file it is in; "" where there is none

    @property
    def found(self) -> list[Prediction]:
        """The tests with a remark, the likeliest to flake first."""
        return sorted((one for one in self.predictions if one.remarks), key=lambda one: -one.score)

    @property
    def linked_by(self) -> Mapping[str, int]:
        """How many tests were linked to the code they test, by the way it was found."""
        return Counter(one.linked_by for one in self.predictions if one.linked_by is not None)

    @property
    def linked_share(self) -> float:
        """The share of the tests that are linked to the code they test; 0 where there is no test."""
        return sum(self.linked_by.values()) / len(self.predictions) if self.predictions else 0.0

    @property
    def remarks(self) -> list[Remark]:
        """Each remark once, in the order of files and lines; many tests can share a fixture's."""
        once = {(r.path, r.line, r.rule, r.message): r for one in self.predictions for r in one.remarks}
        return [once[key] for key in sorted(once)]
