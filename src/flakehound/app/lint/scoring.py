"""Score how likely each test is to be flaky, by a model or by the fixed weights of rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flakehound.app.lint.model_file import NamedModel, model_for
from flakehound.core.predictions import LintFinding
from flakehound.learn.static.reasons import explained_chances
from flakehound.lint.analyse import CaseAnalysis
from flakehound.lint.scoring.rule_weights import finding_counts, rule_score
from flakehound.lint.scoring.vocabulary import word_columns

RULES, MODEL = "rules", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakinessScore:
    """The probability that a test is flaky, and of which kind where a model says it."""

    flaky: float
    nod: float | None = None
    order_dependent: float | None = None
    why: str = ""  # the signals that raise it most, in one line; "" without a model


class LintScorer(Protocol):
    """Something that scores tests."""

    source: str  # RULES or MODEL
    name: str  # of the model; "" without one

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of every test by its findings; a model needs all tests of a file together."""


class RuleScorer:
    """Scores by the fixed weights of rules."""

    source, name = RULES, ""

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of each test by itself."""
        return [
            FlakinessScore(flaky=rule_score(found, case.row.metric_cells()))
            for case, found in zip(cases, findings, strict=True)
        ]


class ModelScorer:
    """Scores by a learned model."""

    source = MODEL

    def __init__(self, named: NamedModel) -> None:
        self.name = named.name
        self._model = named.model

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of each test by its own values and the means over its file."""
        values = [model_inputs(case, found) for case, found in zip(cases, findings, strict=True)]
        files = [case.row.path for case in cases]
        return [
            FlakinessScore(flaky=one.flaky, nod=one.nod, order_dependent=one.order_dependent, why=why)
            for one, why in explained_chances(self._model, values, files)
        ]


def scorer_for(rootdir: Path, source: str) -> LintScorer:
    """The scorer of this source for a project."""
    return RuleScorer() if source == RULES else ModelScorer(model_for(rootdir))


def model_inputs(case: CaseAnalysis, findings: Sequence[LintFinding]) -> dict[str, float | None]:
    """The values of a test that a model uses: metrics, what it shares with others, findings, words."""
    return {
        **case.row.metric_cells(),
        **case.sharing.cells(),
        **finding_counts(findings),
        **word_columns(case.words),
    }
