"""Score how likely each test is flaky, by a model or by fixed weights of the rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flakehound.app.lint.model_file import NamedModel, model_for
from flakehound.app.lint.project_size import count_test_functions
from flakehound.core.predictions import LintFinding
from flakehound.learn.static.reasons import explained_chances
from flakehound.learn.static.words import WORDS_NOD, WordWeights, shipped_word_weights, words_score
from flakehound.lint.analyse import CaseAnalysis
from flakehound.lint.scoring.rule_weights import finding_counts, rule_score

RULES, MODEL = "rules", "model"


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakinessScore:
    """The probability that a test is flaky, and with a model the probability of each kind."""

    flaky: float
    nod: float | None = None
    order_dependent: float | None = None
    why: str = ""  # the signals that raise the probability most, in one line; "" without a model


class LintScorer(Protocol):
    """Scores the tests of a project."""

    source: str  # RULES or MODEL
    name: str  # of the model; "" without one

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of each test; `findings` has those of each test. A model needs all tests of a file."""


class RuleScorer:
    """Scores by fixed weights of the rules."""

    source, name = RULES, ""

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of each test by its own findings and metrics."""
        return [
            FlakinessScore(flaky=rule_score(case_findings, case.row.metric_cells()))
            for case, case_findings in zip(cases, findings, strict=True)
        ]


class ModelScorer:
    """Scores by a trained model."""

    source = MODEL

    def __init__(
        self, named: NamedModel, project_tests: int | None = None, word_weights: WordWeights | None = None
    ) -> None:
        self.name = named.name
        self._model = named.model
        self._word_weights = word_weights  # None: those that flakehound ships
        self._project_tests = project_tests  # None: not known, so the project counts as one of usual size

    def scores(
        self, cases: Sequence[CaseAnalysis], findings: Sequence[Sequence[LintFinding]]
    ) -> list[FlakinessScore]:
        """The score of each test by its own values and the means over its file."""
        values = [
            model_inputs(case, case_findings, self._word_weights)
            for case, case_findings in zip(cases, findings, strict=True)
        ]
        files = [case.row.path for case in cases]
        return [
            FlakinessScore(flaky=chances.flaky, nod=chances.nod, order_dependent=chances.order_dependent, why=why)
            for chances, why in explained_chances(self._model, values, files, self._project_tests)
        ]


def scorer_for(rootdir: Path, source: str) -> LintScorer:
    """The scorer for a project; `source` is RULES or MODEL."""
    return RuleScorer() if source == RULES else ModelScorer(model_for(rootdir), count_test_functions(rootdir))


def model_inputs(
    case: CaseAnalysis, findings: Sequence[LintFinding], word_weights: WordWeights | None = None
) -> dict[str, float | None]:
    """The values of a test that a model uses: metrics, what it shares with others, its words, finding counts.

    Without weights of words, those that flakehound ships are used.
    """
    weights = shipped_word_weights() if word_weights is None else word_weights
    return {
        **case.row.metric_cells(),
        **case.sharing.cells(),
        WORDS_NOD: words_score(case.words, weights),
        **finding_counts(findings),
    }
