"""Figures about a ranking of the tests of many projects, with bootstrap intervals over projects.

A figure is computed for many weightings of the projects at once: the first row of `Draws.weights` counts each
project once and gives the estimate, the others count how often a resample has it. All figures see the same
resamples, so the difference of two figures is a paired comparison.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
TOP_SHARE = 0.1  # "the top of a project's list"
_BINS = 10  # of equal size, for calibration
_LEVELS = (2.5, 97.5)  # percentiles: 95 % intervals


@dataclass(frozen=True, slots=True, kw_only=True)
class Draws:
    """How often each project counts: once in the first row, as often as it was drawn in the others."""

    weights: Floats

    @classmethod
    def of(cls, projects: int, resamples: int, seed: int) -> Draws:
        """Draw `projects` projects with replacement, `resamples` times."""
        rng = np.random.default_rng(seed)
        drawn = rng.multinomial(projects, np.full(projects, 1 / projects), size=resamples)
        return cls(weights=np.vstack([np.ones(projects), drawn]).astype(np.float64))


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An estimate with its values in the resamples; a resample in which it is undefined is NaN."""

    values: Floats

    @property
    def estimate(self) -> float:
        """The value on the projects as they are."""
        return float(self.values[0])

    @property
    def interval(self) -> tuple[float, float]:
        """The 95 % interval."""
        drawn = self.values[1:][np.isfinite(self.values[1:])]
        low, high = np.percentile(drawn, _LEVELS) if len(drawn) else (np.nan, np.nan)
        return float(low), float(high)

    @property
    def share_above_zero(self) -> float:
        """In how many resamples it is above 0; of a difference, how sure it is that it is one."""
        drawn = self.values[1:][np.isfinite(self.values[1:])]
        return float(np.mean(drawn > 0)) if len(drawn) else float("nan")

    def minus(self, other: Figure) -> Figure:
        """The paired difference."""
        return Figure(values=self.values - other.values)

    def text(self, digits: int = 3, *, signed: bool = False) -> str:
        """The estimate with its interval, `0.612 [0.551, 0.670]`."""
        form = f"{'+' if signed else ''}.{digits}f"
        low, high = self.interval
        return f"{self.estimate:{form}} [{low:{form}}, {high:{form}}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RankedTests:
    """Tests with one score each, the positives among them, and the project of each test as a number."""

    scores: Floats
    positive: NDArray[np.bool_]
    project: NDArray[np.int64]
    projects: int


def ratio(draws: Draws, parts: Any, wholes: Any) -> Figure:
    """The sum of the projects' `parts` divided by the sum of their `wholes`."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return Figure(values=(draws.weights @ np.asarray(parts)) / (draws.weights @ np.asarray(wholes)))


def mean_over_projects(draws: Draws, by_project: Floats) -> Figure:
    """The mean of the projects' values; projects without one (NaN) do not count."""
    return ratio(draws, np.nan_to_num(by_project), np.isfinite(by_project).astype(float))


def sums_by_project(ranked: RankedTests, values: Any) -> Floats:
    """The sum of a value of the tests of each project."""
    weights = np.asarray(values, dtype=float)
    sums = np.bincount(ranked.project, weights=weights, minlength=ranked.projects)
    return np.asarray(sums, dtype=np.float64)


# ------------------------------------------------------------------ ranking


def won_pairs(ranked: RankedTests) -> Floats:
    """Row p, column q: how many positives of p and negatives of q are pairs in the right order; ties half."""
    scores, of_project = ranked.scores[ranked.positive], ranked.project[ranked.positive]
    won = np.zeros((ranked.projects, ranked.projects))
    for other in range(ranked.projects):
        negatives = np.sort(ranked.scores[(ranked.project == other) & ~ranked.positive])
        below = (np.searchsorted(negatives, scores, "left") + np.searchsorted(negatives, scores, "right")) / 2
        won[:, other] = np.bincount(of_project, weights=below, minlength=ranked.projects)
    return won


def pooled_auc(draws: Draws, ranked: RankedTests, won: Floats) -> Figure:
    """The chance that a positive ranks above a negative of any project."""
    positives = draws.weights @ sums_by_project(ranked, ranked.positive)
    negatives = draws.weights @ sums_by_project(ranked, ~ranked.positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = ((draws.weights @ won) * draws.weights).sum(axis=1) / (positives * negatives)
    return Figure(values=values)


def auc_within_projects(draws: Draws, ranked: RankedTests, won: Floats) -> Figure:
    """The mean over projects of the AUC among their own tests; projects with one class only do not count."""
    pairs = sums_by_project(ranked, ranked.positive) * sums_by_project(ranked, ~ranked.positive)
    with np.errstate(invalid="ignore", divide="ignore"):
        return mean_over_projects(draws, np.where(pairs > 0, np.diag(won) / pairs, np.nan))


def positives_in_top(ranked: RankedTests) -> Floats:
    """By project: how many positives are among its top tests, at least one test; ties count in part."""
    hits = np.zeros(ranked.projects)
    for number in range(ranked.projects):
        of_project = ranked.project == number
        scores, positive = ranked.scores[of_project], ranked.positive[of_project]
        if positive.any():
            places = int(np.ceil(TOP_SHARE * len(scores)))
            threshold = np.sort(scores)[-places]
            above, tied = scores > threshold, scores == threshold
            hits[number] = positive[above].sum() + positive[tied].sum() * (places - above.sum()) / tied.sum()
    return hits


# ------------------------------------------------------------------ calibration


def calibration_error(draws: Draws, ranked: RankedTests) -> Figure:
    """Expected calibration error: mean difference of chance and share of positives in ten bins of equal size."""
    order = np.argsort(ranked.scores, kind="stable")
    bins = np.empty(len(order), dtype=np.int64)
    bins[order] = np.arange(len(order)) * _BINS // len(order)
    excess = ranked.scores - ranked.positive
    gaps = [abs(draws.weights @ sums_by_project(ranked, excess * (bins == number))) for number in range(_BINS)]
    sizes = draws.weights @ sums_by_project(ranked, np.ones(len(order)))
    return Figure(values=np.sum(gaps, axis=0) / sizes)
