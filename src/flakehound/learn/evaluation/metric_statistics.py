"""Which metrics are related to flakiness: the statistics of STATIC."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from flakehound.learn.extras import Array

MAX_VARIANCE_INFLATION = 5.0
_GAIN_BINS = 10  # of equally many tests, for the information gain of a metric


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricDifference:
    """How one metric differs between positive and negative tests."""

    feature: str
    p_value: float  # Mann-Whitney, two-sided
    corrected: float  # p-value after Holm's correction for the number of metrics
    delta: float  # Cliff's delta: above 0 if positive tests have larger values
    size: str  # of the effect, in words
    gain: float  # information about the label, in bits
    spearman: float  # with the label


def metric_differences(features: Sequence[str], values: Array, positive: Array) -> list[MetricDifference]:
    """The differences of all metrics, the strongest effect first."""
    uncorrected = [_difference(name, column, positive) for name, column in zip(features, values.T, strict=True)]
    p_values = holm_correction([metric.p_value for metric in uncorrected])
    corrected = [replace(metric, corrected=p) for metric, p in zip(uncorrected, p_values, strict=True)]
    return sorted(corrected, key=lambda metric: -abs(metric.delta))


def _difference(name: str, column: Array, positive: Array) -> MetricDifference:
    """The difference of one metric, not yet corrected for the number of metrics."""
    from scipy import stats

    flaky, steady = column[positive == 1], column[positive == 0]
    result = stats.mannwhitneyu(flaky, steady, alternative="two-sided")
    delta = 2 * float(result.statistic) / (len(flaky) * len(steady)) - 1
    is_constant = column.min() == column.max()
    return MetricDifference(
        feature=name,
        p_value=float(result.pvalue),
        corrected=float(result.pvalue),
        delta=delta,
        size=effect_size_word(delta),
        gain=information_gain(column, positive),
        spearman=0.0 if is_constant else float(stats.spearmanr(column, positive).statistic),
    )


def holm_correction(p_values: Sequence[float]) -> list[float]:
    """The p-values corrected for their number by Holm's method, in the given order."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    corrected, largest = [0.0] * len(p_values), 0.0
    for rank, number in enumerate(order):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[number]))
        corrected[number] = largest
    return corrected


def effect_size_word(delta: float) -> str:
    """The usual words for Cliff's delta."""
    limits = ((0.147, "negligible"), (0.33, "small"), (0.474, "medium"))
    return next((word for limit, word in limits if abs(delta) < limit), "large")


def information_gain(column: Array, positive: Array) -> float:
    """The bits of information about the label that the tenth of a metric's value gives."""
    import numpy as np

    limits = np.unique(np.quantile(column, np.linspace(0, 1, _GAIN_BINS + 1)[1:-1]))
    bins = np.searchsorted(limits, column)
    conditional = sum((bins == b).mean() * _entropy(float(positive[bins == b].mean())) for b in np.unique(bins))
    return max(0.0, _entropy(float(positive.mean())) - float(conditional))


def _entropy(share: float) -> float:
    import numpy as np

    return 0.0 if share in (0.0, 1.0) else float(-share * np.log2(share) - (1 - share) * np.log2(1 - share))


def variance_inflation(values: Array) -> Array:
    """The variance inflation factor of each column; inf if other columns determine it, 1 for a constant."""
    import numpy as np

    factors = []
    for number in range(values.shape[1]):
        own, others = values[:, number], np.delete(values, number, axis=1)
        total = ((own - own.mean()) ** 2).sum()
        design = np.column_stack([np.ones(len(own)), others])
        residual = ((own - design @ np.linalg.lstsq(design, own, rcond=None)[0]) ** 2).sum()
        factors.append(1.0 if total == 0 else np.inf if residual < 1e-10 * total else total / residual)
    return np.array(factors)


def without_collinear(features: Sequence[str], values: Array) -> dict[str, float]:
    """Drop the metric with the largest variance inflation factor until none is above 5.

    Returns the factors of the metrics that are left; constant ones are dropped, too.
    """
    import numpy as np

    columns = [number for number in range(len(features)) if np.ptp(values[:, number]) > 0]
    scaled = (values - values.mean(axis=0)) / (values.std(axis=0) + 1e-12)
    while True:
        factors = variance_inflation(scaled[:, columns])
        if not len(factors) or factors.max() <= MAX_VARIANCE_INFLATION:
            return {features[number]: float(factor) for number, factor in zip(columns, factors, strict=True)}
        del columns[int(factors.argmax())]


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
    """Mean ranks of treatments over blocks; 1 is the best."""

    mean: Mapping[str, float]
    critical_distance: float  # a larger difference between two ranks is significant
    friedman_p: float  # of Wilcoxon's test if there are two treatments; nan if all figures are equal


def nemenyi_ranks(figures: Mapping[str, Sequence[float]]) -> MeanRanks:
    """Friedman's test and Nemenyi's critical distance at 5 %; larger figures are better."""
    import numpy as np
    from scipy import stats

    names = list(figures)
    table = np.array([figures[name] for name in names]).T
    ranks = stats.rankdata(-table, axis=1).mean(axis=0)
    blocks, treatments = table.shape
    quantile = stats.studentized_range.ppf(0.95, treatments, np.inf) / 2**0.5
    p_value = float("nan")
    if np.ptp(table, axis=1).any():
        significance_test = stats.friedmanchisquare if treatments > 2 else stats.wilcoxon
        p_value = float(significance_test(*table.T).pvalue)
    distance = float(quantile * (treatments * (treatments + 1) / (6 * blocks)) ** 0.5)
    return MeanRanks(
        mean=dict(zip(names, ranks.tolist(), strict=True)), critical_distance=distance, friedman_p=p_value
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Overlap:
    """Shares of the tests that at least one of two models predicts correctly."""

    both: float
    first_alone: float
    second_alone: float


def overlap(first: Array, second: Array) -> Overlap:
    """Which share of the tests both models predict correctly, and which share only one of them."""
    either = int((first | second).sum()) or 1
    return Overlap(
        both=float((first & second).sum()) / either,
        first_alone=float((first & ~second).sum()) / either,
        second_alone=float((second & ~first).sum()) / either,
    )
