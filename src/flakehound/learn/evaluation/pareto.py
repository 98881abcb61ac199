"""Sweep the thresholds of model-assisted rerunning: detection and cost of each point, and the Pareto front.

A model's probabilities are sorted into a histogram over the 102 thresholds. Each count and each cost of a pair of
thresholds is then a difference of two cumulative sums, so a sweep needs only one pass over the tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flakehound.learn.evaluation.rerun_costs import pairwise_cost
from flakehound.learn.evaluation.scores import Confusion
from flakehound.learn.extras import Array

THRESHOLD_STEPS = 100  # thresholds are hundredths up to 1; no probability reaches the last one, 1.01


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleTask:
    """What the sweep of a single model needs to know about each test."""

    positive: Array  # 0 or 1
    technique_s: Array  # what the technique spends on the test if the model does not decide
    suite_s: float  # one run of all tests, for each measurement of features


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTask:
    """What the sweep of two models needs to know: costs of the tests, and rows of each victim and its polluter."""

    cost_s: Array
    victims: Array
    polluters: Array  # as long as `victims`
    suites: Array | None = None  # number of each test's suite; only tests of one suite are paired; None: one suite


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoints:
    """Points of the parameter space; arrays of one length, means over repeats."""

    first: Array  # ω_l, or ω_V
    second: Array  # ω_u, or ω_P
    samples: Array  # n_F: measurements of the features; 0 if no model is used
    detection: Array  # MCC, or the share of pairs found
    cost_s: Array

    def select(self, indices: Array) -> SweepPoints:
        """The points with these indices."""
        return SweepPoints(
            first=self.first[indices],
            second=self.second[indices],
            samples=self.samples[indices],
            detection=self.detection[indices],
            cost_s=self.cost_s[indices],
        )

    def __len__(self) -> int:
        return len(self.first)


def thresholds() -> Array:
    """0, 0.01, …, 1.01."""
    import numpy as np

    return np.arange(THRESHOLD_STEPS + 2) / THRESHOLD_STEPS


def threshold_bins(probability: Array) -> Array:
    """The number of the largest threshold that each probability reaches."""
    import numpy as np

    # A mean over trees can be smaller than the hundredth that it stands for by a rounding error.
    hundredths = np.floor(np.asarray(probability) * THRESHOLD_STEPS + 1e-7).astype(int)
    bins: Array = np.clip(hundredths, 0, THRESHOLD_STEPS)
    return bins


def single_model_confusion(task: SingleTask, probability: Array) -> tuple[Confusion, Array]:
    """Counts (eq. 5) and costs without features for each pair of thresholds ω_l ≤ ω_u.

    Both are square arrays, rows by ω_l, columns by ω_u. Only the part on and above the diagonal is meaningful.
    """
    bins = threshold_bins(probability)
    positives = _sums_below(bins, task.positive)
    negatives = _sums_below(bins, 1 - task.positive)
    technique_s = _sums_below(bins, task.technique_s)
    false_negatives = positives[:-1, None] + 0 * negatives[None, :]
    false_positives = (negatives[-1] - negatives)[None, :] + 0 * positives[:-1, None]
    counts = Confusion(
        tp=positives[-1] - false_negatives,
        fp=false_positives,
        fn=false_negatives,
        tn=negatives[-1] - false_positives,
    )
    return counts, technique_s[None, :] - technique_s[:-1, None]


def _sums_below(bins: Array, weights: Array) -> Array:
    """For each threshold, the sum of the weights of the tests whose probability is below it."""
    import numpy as np

    sums = np.cumsum(np.bincount(bins, weights=weights, minlength=THRESHOLD_STEPS + 1))
    return np.concatenate([[0.0], sums])


def _sums_reaching(bins: Array, suites: Array, weights: Array | None = None) -> Array:
    """By suite and threshold up to 1, the sum of the weights of the tests whose probability reaches it."""
    import numpy as np

    width = THRESHOLD_STEPS + 1
    sums = np.bincount(suites * width + bins, weights=weights, minlength=width * (int(suites.max()) + 1))
    return np.cumsum(sums.reshape(-1, width)[:, ::-1], axis=1)[:, ::-1]


def single_points(task: SingleTask, predicted: Iterable[tuple[int, Array]]) -> SweepPoints:
    """All points (ω_l, ω_u, n_F) with mean MCC and cost; each repeat provides n_F and probabilities."""
    import numpy as np

    lower, upper = np.triu_indices(THRESHOLD_STEPS + 1, m=THRESHOLD_STEPS + 2)
    sums: dict[int, _RepeatSums] = defaultdict(_RepeatSums)
    for samples, probability in predicted:
        counts, cost_s = single_model_confusion(task, probability)
        sums[samples].add(counts.mcc[lower, upper], cost_s[lower, upper])
    grid = thresholds()
    points = _mean_points(sums, grid[lower], grid[upper], task.suite_s)
    is_technique_alone = (points.first == 0) & (points.second > 1)
    return _with_one_technique_point(points, is_technique_alone, suite_s=task.suite_s)


def pair_points(task: PairTask, predicted: Iterable[tuple[int, Array, Array]]) -> SweepPoints:
    """All points (ω_V, ω_P, n_F) with mean share of pairs and cost; repeats provide n_F and probabilities."""
    import numpy as np

    width = THRESHOLD_STEPS + 1
    suites = np.zeros(len(task.cost_s), dtype=int) if task.suites is None else task.suites
    sums: dict[int, _RepeatSums] = defaultdict(_RepeatSums)
    for samples, victim, polluter in predicted:
        v_bins, p_bins = threshold_bins(victim), threshold_bins(polluter)
        v_counts, v_costs = _sums_reaching(v_bins, suites), _sums_reaching(v_bins, suites, task.cost_s)
        p_counts, p_costs = _sums_reaching(p_bins, suites), _sums_reaching(p_bins, suites, task.cost_s)
        pairs = np.bincount(v_bins[task.victims] * width + p_bins[task.polluters], minlength=width * width)
        found_pairs = np.cumsum(np.cumsum(pairs.reshape(width, width)[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        by_suite_s = pairwise_cost(
            v_counts[:, :, None], v_costs[:, :, None], p_counts[:, None, :], p_costs[:, None, :]
        )
        cost_s = by_suite_s.sum(axis=0)
        share = found_pairs / len(task.victims) if len(task.victims) else np.full((width, width), np.nan)
        sums[samples].add(share.ravel(), cost_s.ravel())
    grid = thresholds()[:-1]
    suite_s = float(np.sum(task.cost_s))
    points = _mean_points(sums, np.repeat(grid, width), np.tile(grid, width), suite_s)
    return _with_one_technique_point(points, (points.first == 0) & (points.second == 0), suite_s=suite_s)


@dataclass(slots=True)
class _RepeatSums:
    """Sums of detection and cost over the repeats with one number of measurements."""

    detection: Any = 0.0  # an array after the first repeat
    cost_s: Any = 0.0
    repeats: int = 0

    def add(self, detection: Array, cost_s: Array) -> None:
        self.detection, self.cost_s = self.detection + detection, self.cost_s + cost_s
        self.repeats += 1


def _mean_points(sums: Mapping[int, _RepeatSums], first: Array, second: Array, suite_s: float) -> SweepPoints:
    """The means of the repeats, by number of measurements; their costs include the measurements."""
    import numpy as np

    return SweepPoints(
        first=np.tile(first, len(sums)),
        second=np.tile(second, len(sums)),
        samples=np.repeat(list(sums), len(first)),
        detection=np.concatenate([own.detection / own.repeats for own in sums.values()]),
        cost_s=np.concatenate([own.cost_s / own.repeats + samples * suite_s for samples, own in sums.items()]),
    )


def _with_one_technique_point(points: SweepPoints, is_technique_alone: Array, *, suite_s: float) -> SweepPoints:
    """Keep one point where the technique does everything, without the cost of features, which it does not need."""
    import numpy as np

    first = int(np.flatnonzero(is_technique_alone)[0])
    is_kept = ~is_technique_alone
    is_kept[first] = True
    cost_s, samples = points.cost_s.copy(), points.samples.copy()
    cost_s[first] -= samples[first] * suite_s
    samples[first] = 0
    corrected = SweepPoints(
        first=points.first, second=points.second, samples=samples, detection=points.detection, cost_s=cost_s
    )
    return corrected.select(np.flatnonzero(is_kept))


def pareto_front(points: SweepPoints) -> SweepPoints:
    """The points that no other point beats in both detection and cost, the cheapest first.

    Points with an undefined detection are left out.
    """
    import numpy as np

    usable = np.flatnonzero(~np.isnan(points.detection))
    order = usable[np.lexsort((-points.detection[usable], points.cost_s[usable]))]
    best = np.maximum.accumulate(points.detection[order])
    is_improvement = np.concatenate([[True], best[1:] > best[:-1]])
    return points.select(order[is_improvement])


def knee_index(points: SweepPoints) -> int:
    """The index of the point nearest to detection 1 at cost 0; costs are relative to the most expensive point."""
    import numpy as np

    max_cost_s = points.cost_s.max() or 1.0
    return int(np.argmin(np.hypot(1 - points.detection, points.cost_s / max_cost_s)))


def model_alone_index(points: SweepPoints) -> int | None:
    """The index of the best point where the model decides everything; None if there is none."""
    import numpy as np

    candidates = np.flatnonzero((points.first == points.second) & ~np.isnan(points.detection))
    return None if not len(candidates) else int(candidates[np.argmax(points.detection[candidates])])


def technique_alone_index(points: SweepPoints) -> int:
    """The index of the point where the technique does everything and no model is used."""
    import numpy as np

    return int(np.flatnonzero(points.samples == 0)[0])
