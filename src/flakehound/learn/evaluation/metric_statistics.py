"""Which metrics have to do with flakiness: the statistics of STATIC."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flakehound.learn.extras import Array

MOST_VIF = 5.0
_PARTS = 10  # equally many tests each, into which a metric is cut for its information gain


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """How one metric differs between positive and negative tests."""

    feature: str
    p_value: float  # Mann-Whitney, two-sided
    corrected: float  # by Holm over all metrics
    delta: float  # Cliff's: above 0 where positive tests have larger values
    size: str
    gain: float  # information about the label, in bits
    spearman: float  # with the label


def differences(features: Sequence[str], values: Array, positive: Array) -> list[MetricDifference]:
    """Every metric, the strongest effect first."""
    found = [_difference(name, column, positive) for name, column in zip(features, values.T, strict=True)]
    corrected = holm([one.p_value for one in found])
    corrected_rows = [replace(one, corrected=p_value) for one, p_value in zip(found, corrected, strict=True)]
    return sorted(corrected_rows, key=lambda one: -abs(one.delta))


def _difference(name: str, column: Array, positive: Array) -> MetricDifference:
    """One metric, not yet corrected for the number of metrics."""
    from scipy import stats

    flaky, steady = column[positive == 1], column[positive == 0]
    test = stats.mannwhitneyu(flaky, steady, alternative="two-sided")
    delta = 2 * float(test.statistic) / (len(flaky) * len(steady)) - 1
    is_constant = column.min() == column.max()
    return MetricDifference(
        feature=name,
        p_value=float(test.pvalue),
        corrected=float(test.pvalue),
        delta=delta,
        size=effect_size_word(delta),
        gain=information_gain(column, positive),
        spearman=0.0 if is_constant else float(stats.spearmanr(column, positive).statistic),
    )


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values corrected for their number, by Holm."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[place]))
        corrected[place] = largest
    return corrected


def effect_size_word(delta: float) -> str:
    """The usual words for Cliff's delta."""
    limits = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
    return next((word for limit, word in limits if abs(delta) < limit), "large")


def information_gain(column: Array, positive: Array) -> float:
    """Bits about the label that the metric's tenth gives."""
    import numpy as np

    part = np.searchsorted(np.unique(np.quantile(column, np.linspace(0, 1, _PARTS + 1)[1:-1])), column)
    inside = sum((part == one).mean() * _entropy(float(positive[part == one].mean())) for one in np.unique(part))
    return max(0.0, _entropy(float(positive.mean())) - float(inside))


def _entropy(share: float) -> float:
    import numpy as np

    return 0.0 if share in (0.0, 1.0) else float(-share * np.log2(share) - (1 - share) * np.log2(1 - share))


def variance_inflation(values: Array) -> Array:
    """Variance inflation factor of each column; inf where the others give it away, 1 for a constant."""
    import numpy as np

    found = []
    for place in range(values.shape[1]):
        own, others = values[:, place], np.delete(values, place, axis=1)
        spread = ((own - own.mean()) ** 2).sum()
        design = np.column_stack([np.ones(len(own)), others])
        left = ((own - design @ np.linalg.lstsq(design, own, rcond=None)[0]) ** 2).sum()
        found.append(1.0 if spread == 0 else np.inf if left < 1e-10 * spread else spread / left)
    return np.array(found)


def without_collinear(features: Sequence[str], values: Array) -> dict[str, float]:
    """What is left, with its factor, after dropping the largest factor above 5 again and again."""
    import numpy as np

    kept = [place for place in range(len(features)) if np.ptp(values[:, place]) > 0]
    scaled = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-12)
    while True:
        factors = variance_inflation(scaled[:, kept])
        if not len(factors) or factors.max() <= MOST_VIF:
            return {features[place]: float(factor) for place, factor in zip(kept, factors, strict=True)}
        del kept[int(factors.argmax())]


@dataclass(frozen=True, slots=True, kw_only=True)
class LogisticWeight:
    """The coefficient of one metric in a logistic regression."""

    weight: float  # per standard deviation
    p_value: float


def logistic_weights(features: Sequence[str], values: Array, positive: Array) -> dict[str, LogisticWeight]:
    """The coefficients of a logistic regression on all these metrics."""
    from statsmodels import api

    scaled = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-12)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = api.Logit(positive, api.add_constant(scaled)).fit(disp=0, maxiter=200)
    return {
        name: LogisticWeight(weight=float(weight), p_value=float(p_value))
        for name, weight, p_value in zip(features, fit.params[1:], fit.pvalues[1:], strict=True)
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanRanks:
    """Mean ranks of treatments over blocks, 1 the best, and how far apart is not by chance."""

    mean: Mapping[str, float]
    critical: float
    friedman_p: float  # of two treatments Wilcoxon's; nan where all are alike


def nemenyi(figures: Mapping[str, Sequence[float]]) -> MeanRanks:
    """Friedman's test and Nemenyi's critical distance at 5 %, for figures of which more is better."""
    import numpy as np
    from scipy import stats

    names = list(figures)
    table = np.array([figures[name] for name in names]).T
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    blocks, k = table.shape
    quantile = stats.studentized_range.ppf(0.95, k, np.inf) / 2**0.5
    p = float("nan")
    if np.ptp(table, axis=1).any():
        p = float((stats.friedmanchisquare if k > 2 else stats.wilcoxon)(*table.T).pvalue)
    distance = float(quantile * (k * (k + 1) / (6 * blocks)) ** 0.5)
    return MeanRanks(mean=dict(zip(names, ranks.tolist(), strict=True)), critical=distance, friedman_p=p)


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Shares of the tests that at least one of two models predicts rightly."""

    both: float
    first_alone: float
    second_alone: float


def overlap(first: Array, second: Array) -> Overlap:
    """Which share of the tests both models predict rightly, and which share one alone."""
    either = int((first | second).sum()) or 1
    return Overlap(
        both=float((first & second).sum()) / either,
        first_alone=float((first & ~second).sum()) / either,
        second_alone=float((second & ~first).sum()) / either,
    )
