"""Rules that choose a model for an unseen project by how its candidates predict other projects.

A rule chooses a candidate and the smallest chance at which a test counts as flaky. Decision 0021 has the figures
of all rules. The rule can be chosen by the other projects as well, see `best_rule`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flakehound.learn.evaluation.scores import Confusion, area_under_curve, confusion
from flakehound.learn.extras import Array

HALF = 0.5
_THRESHOLDS_AROUND_HALF = (0.4, 0.5, 0.6, 0.7)
_FIXED_THRESHOLDS = tuple(twentieths / 20 for twentieths in range(4, 19))
_QUANTILES = 100

Candidate: TypeAlias = Any  # any hashable value that identifies a candidate
CandidateChoice: TypeAlias = tuple[Candidate, float]  # and its threshold
ChancesByCandidate: TypeAlias = Mapping[Candidate, Sequence[Array]]  # the chances of the tests of each project


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    """A rule that chooses a candidate by its chances for the tests of other projects, and by their labels."""

    name: str
    choose: Callable[[ChancesByCandidate, Sequence[Array]], CandidateChoice]


def mcc_at(positive: Array, chances: Array, thresholds: Sequence[float]) -> Array:
    """The MCC at each threshold; 0 if it is undefined."""
    import numpy as np

    order = np.argsort(chances, kind="stable")
    below = np.searchsorted(chances[order], thresholds)
    missed = np.concatenate([[0], np.cumsum(positive[order])])[below]
    counts = Confusion(
        tp=positive.sum() - missed,
        fp=len(positive) - below - (positive.sum() - missed),
        fn=missed,
        tn=below - missed,
    )
    return np.asarray(np.nan_to_num(counts.mcc))


def _best_candidate(
    chances: ChancesByCandidate, score: Callable[[Candidate], tuple[float, float]]
) -> CandidateChoice:
    """The candidate with the largest score, and the threshold that belongs to it; the first of equals."""
    scored = [(*score(candidate), candidate) for candidate in chances]
    _score, threshold, candidate = max(scored, key=lambda entry: entry[0])
    return candidate, threshold


def _concatenate(projects: Sequence[Array]) -> Array:
    import numpy as np

    return np.concatenate(projects)


def by_area(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest AUC over all tests; the threshold is one half."""
    labels = _concatenate(positive)
    return _best_candidate(chances, lambda one: (area_under_curve(labels, _concatenate(chances[one])), HALF))


def by_mcc_at_half(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest MCC at one half."""
    labels = _concatenate(positive)
    return _best_candidate(chances, lambda one: (mcc_at(labels, _concatenate(chances[one]), (HALF,))[0], HALF))


def by_mcc_around_half(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest mean of the MCC at four thresholds; the threshold is one half."""
    labels = _concatenate(positive)

    def score(candidate: Candidate) -> tuple[float, float]:
        return mcc_at(labels, _concatenate(chances[candidate]), _THRESHOLDS_AROUND_HALF).mean(), HALF

    return _best_candidate(chances, score)


def by_mean_f1(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest mean of the projects' F1 at one half."""
    import numpy as np

    def score(candidate: Candidate) -> tuple[float, float]:
        projects = zip(positive, chances[candidate], strict=True)
        f1 = [confusion(labels, (own >= HALF).astype(int)).f1 for labels, own in projects if labels.any()]
        return float(np.mean(f1)), HALF

    return _best_candidate(chances, score)


def by_mcc_and_threshold(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest MCC at any of the fixed thresholds, and that threshold."""
    labels = _concatenate(positive)
    return _best_candidate(chances, lambda one: _best_mcc(labels, _concatenate(chances[one]), _FIXED_THRESHOLDS))


def by_mcc_and_quantile(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest MCC at any quantile of the candidate's chances, and that threshold."""
    import numpy as np

    labels, quantiles = _concatenate(positive), np.linspace(0, 1, _QUANTILES + 1)[:-1]

    def score(candidate: Candidate) -> tuple[float, float]:
        own = _concatenate(chances[candidate])
        return _best_mcc(labels, own, np.quantile(own, quantiles).tolist())

    return _best_candidate(chances, score)


def by_area_with_threshold(chances: ChancesByCandidate, positive: Sequence[Array]) -> CandidateChoice:
    """The largest AUC, and the fixed threshold with the largest MCC."""
    candidate, _half = by_area(chances, positive)
    return candidate, _best_mcc(_concatenate(positive), _concatenate(chances[candidate]), _FIXED_THRESHOLDS)[1]


def _best_mcc(positive: Array, chances: Array, thresholds: Sequence[float]) -> tuple[float, float]:
    """The largest MCC, and its threshold."""
    values = mcc_at(positive, chances, thresholds)
    return float(values.max()), float(thresholds[int(values.argmax())])


BY_AREA = ChoiceRule(name="AUC, one half", choose=by_area)
CHOICE_RULES = (
    BY_AREA,
    ChoiceRule(name="MCC at one half", choose=by_mcc_at_half),
    ChoiceRule(name="mean MCC between 0.4 and 0.7, one half", choose=by_mcc_around_half),
    ChoiceRule(name="mean F1 of the projects", choose=by_mean_f1),
    ChoiceRule(name="MCC, threshold from 0.2 to 0.9", choose=by_mcc_and_threshold),
    ChoiceRule(name="MCC, threshold among 100 quantiles", choose=by_mcc_and_quantile),
    ChoiceRule(name="AUC, threshold by MCC", choose=by_area_with_threshold),
)


def best_rule(
    rules: Sequence[ChoiceRule], predicted: Mapping[str, Sequence[Array]], positive: Sequence[Array]
) -> ChoiceRule:
    """The rule whose predictions, by name of the rule and project, have the largest MCC; the first of equals."""
    labels = _concatenate(positive)

    def score(rule: ChoiceRule) -> float:
        mcc = confusion(labels, _concatenate(predicted[rule.name])).mcc
        return mcc if mcc == mcc else 0.0

    return max(rules, key=score)
