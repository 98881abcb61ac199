"""The figures by which a ranking of tests and the share of tests with findings are judged, and their tables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from lint_intervals import (
    Draws,
    Figure,
    Floats,
    RankedTests,
    auc_within_projects,
    calibration_error,
    mean_over_projects,
    pooled_auc,
    positives_in_top,
    ratio,
    sums_by_project,
    won_pairs,
)
from lint_labels import LABELS
from lint_rows import LabelledTest
from numpy.typing import NDArray

KINDS = ("nod", "order_dependent")
KIND_NAMES = {"nod": "NOD", "order_dependent": "order-dependent"}
OURS = "lint, refitted"
COMMON = "lint, refitted, common score"
SHIPPED = "lint, as shipped"
RULES = "lint, rule weights"
PROJECT_SIZE = "project size alone"
_WITHOUT_CHANCES = (COMMON, RULES)  # their scores are about both kinds together
CHANCE = "by chance"
BEST = "by the labels"  # more flaky tests than places at the top: not even this reaches 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The tests that count, with the numbers of their projects, and the resamples that all figures use."""

    tests: list[LabelledTest]
    names: list[str]
    project: NDArray[np.int64]
    draws: Draws

    @classmethod
    def of(cls, tests: Sequence[LabelledTest], resamples: int, seed: int) -> Judged:
        """The judged ones of these tests."""
        judged = [test for test in tests if test.is_judged]
        names = sorted({test.project for test in judged})
        number = {name: position for position, name in enumerate(names)}
        return cls(
            tests=judged,
            names=names,
            project=np.array([number[test.project] for test in judged], dtype=np.int64),
            draws=Draws.of(len(names), resamples, seed),
        )

    @staticmethod
    def positives(tests: Iterable[LabelledTest], kind: str) -> NDArray[np.bool_]:
        """Which of the tests are flaky in this way."""
        return np.array([test.is_nod if kind == "nod" else test.is_order_dependent for test in tests], dtype=bool)

    def ranked(self, chances: Floats, kind: str) -> RankedTests:
        """These tests with their scores."""
        return RankedTests(
            scores=chances,
            positive=self.positives(self.tests, kind),
            project=self.project,
            projects=len(self.names),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Ranking:
    """The chances of all judged tests to be flaky in one way, by one predictor."""

    name: str
    kind: str
    chances: Floats


@dataclass(frozen=True, slots=True, kw_only=True)
class RankingFigures:
    """How good one ranking is."""

    name: str
    kind: str
    auc_pooled: Figure
    auc_within: Figure  # mean over projects
    top_mean: Figure  # share of a project's flaky tests in its top 10 %, mean over projects
    top_pooled: Figure  # the same share of all flaky tests
    calibration_error: Figure | None  # None if the scores are not chances of this kind


def rankings_of(judged: Judged, rankings: Iterable[Ranking]) -> list[RankingFigures]:
    """The figures of all rankings, of a ranking by chance and of the best one."""
    figures = [_figures(judged, ranking) for ranking in rankings]
    zeros = np.zeros(len(judged.tests))
    for kind in KINDS:
        labels = judged.positives(judged.tests, kind).astype(np.float64)
        figures.append(_figures(judged, Ranking(name=CHANCE, kind=kind, chances=zeros)))
        figures.append(_figures(judged, Ranking(name=BEST, kind=kind, chances=labels)))
    return figures


def _figures(judged: Judged, ranking: Ranking) -> RankingFigures:
    ranked = judged.ranked(ranking.chances, ranking.kind)
    won, hits = won_pairs(ranked), positives_in_top(ranked)
    positives = sums_by_project(ranked, ranked.positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.where(positives > 0, hits / positives, np.nan)
    has_chances = ranking.name not in (*_WITHOUT_CHANCES, CHANCE, BEST)
    return RankingFigures(
        name=ranking.name,
        kind=ranking.kind,
        auc_pooled=pooled_auc(judged.draws, ranked, won),
        auc_within=auc_within_projects(judged.draws, ranked, won),
        top_mean=mean_over_projects(judged.draws, shares),
        top_pooled=ratio(judged.draws, hits, positives),
        calibration_error=calibration_error(judged.draws, ranked) if has_chances else None,
    )


def findings_figures(judged: Judged) -> dict[str, Figure]:
    """The shares of NOD, order-dependent and steady tests with findings, and the lift of having one."""
    has_finding = np.array([bool(test.findings) for test in judged.tests], dtype=float)
    groups: dict[str, NDArray[np.bool_]] = {
        **{KIND_NAMES[kind]: judged.positives(judged.tests, kind) for kind in KINDS},
        "other": np.array([not test.label for test in judged.tests], dtype=bool),
    }
    shares = {}
    for name, members in groups.items():
        ranked = RankedTests(
            scores=has_finding, positive=members, project=judged.project, projects=len(judged.names)
        )
        shares[name] = ratio(
            judged.draws, sums_by_project(ranked, has_finding * members), sums_by_project(ranked, members)
        )
    return shares


# ------------------------------------------------------------------ tables


def tables(judged: Judged, shares: Mapping[str, Figure], figures: Sequence[RankingFigures]) -> Iterator[str]:
    """All tables in Markdown."""
    yield from _counts(judged)
    yield from ("", "| tests | share with findings |", "|---|---|")
    yield from (f"| {name} | {figure.text()} |" for name, figure in shares.items())
    for kind in KINDS:
        of_kind = [figure for figure in figures if figure.kind == kind]
        yield from ("", f"## Ranking {KIND_NAMES[kind]} tests", "")
        yield from _ranking_table(of_kind)
        yield from ("", f"{OURS} minus the other, in brackets how many resamples agree that it is better:", "")
        yield from _difference_table(of_kind)


def _counts(judged: Judged) -> Iterator[str]:
    labels = [test.label for test in judged.tests]
    by_label = ", ".join(f"{labels.count(label)} {label}" for label in LABELS if label in labels)
    yield f"{len(judged.tests)} judged tests of {len(judged.names)} projects: {by_label}."
    for kind in KINDS:
        positive = judged.positives(judged.tests, kind)
        counts = np.bincount(judged.project[positive], minlength=len(judged.names))
        yield (
            f"{KIND_NAMES[kind]}: {positive.sum()} tests of {(counts > 0).sum()} projects; "
            f"the largest three hold {np.sort(counts)[-3:].sum() / max(1, counts.sum()):.0%} of them."
        )


def _ranking_table(figures: Sequence[RankingFigures]) -> Iterator[str]:
    yield "| ranking | AUC pooled | AUC within projects | top 10 %, mean of projects | top 10 %, pooled | ECE |"
    yield "|---|---|---|---|---|---|"
    for figure in figures:
        error = figure.calibration_error.text(4) if figure.calibration_error else "–"
        cells = (figure.auc_pooled, figure.auc_within, figure.top_mean, figure.top_pooled)
        yield f"| {figure.name} | " + " | ".join(cell.text() for cell in cells) + f" | {error} |"


def _difference_table(figures: Sequence[RankingFigures]) -> Iterator[str]:
    yield "| other | AUC pooled | AUC within projects | top 10 %, mean of projects | top 10 %, pooled |"
    yield "|---|---|---|---|---|"
    ours = next(figure for figure in figures if figure.name == OURS)
    for other in figures:
        if other.name not in (OURS, CHANCE, BEST):
            differences = [
                ours.auc_pooled.minus(other.auc_pooled),
                ours.auc_within.minus(other.auc_within),
                ours.top_mean.minus(other.top_mean),
                ours.top_pooled.minus(other.top_pooled),
            ]
            cells = [f"{gap.text(signed=True)} ({gap.share_above_zero:.0%})" for gap in differences]
            yield f"| {other.name} | " + " | ".join(cells) + " |"
