"""Rules that choose a model for an unseen project by what its candidates say of other projects.

A rule gives a candidate and the chance from which on a test counts as flaky. Decision 0021 has their figures. A
rule is a choice, too: `best_rule` lets the other projects make it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from flakehound.learn.evaluation.scores import Confusion, area_under_curve, confusion
from flakehound.learn.extras import Array

HALF = 0.5
_AROUND_HALF = (0.4, 0.5, 0.6, 0.7)
_FIXED = tuple(place / 20 for place in range(4, 19))
_QUANTILES = 100

Model: TypeAlias = Any  # whatever names a candidate
Chosen: TypeAlias = tuple[Model, float]
Said: TypeAlias = Mapping[Model, Sequence[Array]]  # by candidate the chances of each project's tests


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceRule:
    """A way to choose; `of` sees chances and labels of the other projects alone."""

    name: str
    of: Callable[[Said, Sequence[Array]], Chosen]


def mcc_at(positive: Array, chances: Array, thresholds: Sequence[float]) -> Array:
    """MCC for each threshold; 0 where it is not defined."""
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


def _best(said: Said, worth: Callable[[Model], tuple[float, float]]) -> Chosen:
    """The candidate of the largest worth, the first of equals, and its threshold."""
    found = [(*worth(candidate), candidate) for candidate in said]
    best = max(found, key=lambda one: one[0])
    return best[2], best[1]


def _pooled(parts: Sequence[Array]) -> Array:
    import numpy as np

    return np.concatenate(parts)


def by_area(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest AUC over all other projects; one half."""
    every = _pooled(positive)
    return _best(said, lambda one: (area_under_curve(every, _pooled(said[one])), HALF))


def by_mcc_at_half(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest MCC at one half."""
    every = _pooled(positive)
    return _best(said, lambda one: (mcc_at(every, _pooled(said[one]), (HALF,))[0], HALF))


def by_mcc_around_half(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest mean of the MCC at four thresholds; one half."""
    every = _pooled(positive)
    return _best(said, lambda one: (mcc_at(every, _pooled(said[one]), _AROUND_HALF).mean(), HALF))


def by_mean_f1(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest mean over the projects of F1 at one half."""
    import numpy as np

    def worth(one: Model) -> tuple[float, float]:
        parts = zip(positive, said[one], strict=True)
        found = [confusion(own, (chances >= HALF).astype(int)).f1 for own, chances in parts if own.any()]
        return float(np.mean(found)), HALF

    return _best(said, worth)


def by_mcc_and_threshold(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest MCC at any of some fixed thresholds, and that threshold."""
    every = _pooled(positive)
    return _best(said, lambda one: _at_best(every, _pooled(said[one]), _FIXED))


def by_mcc_and_quantile(said: Said, positive: Sequence[Array]) -> Chosen:
    """The same, the thresholds being quantiles of the chances."""
    import numpy as np

    every, steps = _pooled(positive), np.linspace(0, 1, _QUANTILES + 1)[:-1]
    return _best(
        said, lambda one: _at_best(every, _pooled(said[one]), np.quantile(_pooled(said[one]), steps).tolist())
    )


def by_area_with_threshold(said: Said, positive: Sequence[Array]) -> Chosen:
    """Largest AUC, and the fixed threshold at which it has the largest MCC."""
    candidate, _half = by_area(said, positive)
    return candidate, _at_best(_pooled(positive), _pooled(said[candidate]), _FIXED)[1]


def _at_best(positive: Array, chances: Array, thresholds: Sequence[float]) -> tuple[float, float]:
    found = mcc_at(positive, chances, thresholds)
    return float(found.max()), float(thresholds[int(found.argmax())])


BY_AREA = ChoiceRule(name="AUC, one half", of=by_area)
CHOICE_RULES = (
    BY_AREA,
    ChoiceRule(name="MCC at one half", of=by_mcc_at_half),
    ChoiceRule(name="mean MCC between 0.4 and 0.7, one half", of=by_mcc_around_half),
    ChoiceRule(name="mean F1 of the projects", of=by_mean_f1),
    ChoiceRule(name="MCC, threshold from 0.2 to 0.9", of=by_mcc_and_threshold),
    ChoiceRule(name="MCC, threshold among 100 quantiles", of=by_mcc_and_quantile),
    ChoiceRule(name="AUC, threshold by MCC", of=by_area_with_threshold),
)


def best_rule(
    rules: Sequence[ChoiceRule], told: Mapping[str, Sequence[Array]], positive: Sequence[Array]
) -> ChoiceRule:
    """The rule whose predictions of the other projects, by its name, have the largest MCC; the first of equals."""
    every = _pooled(positive)

    def worth(rule: ChoiceRule) -> float:
        found = confusion(every, _pooled(told[rule.name])).mcc
        return found if found == found else 0.0

    return max(rules, key=worth)
