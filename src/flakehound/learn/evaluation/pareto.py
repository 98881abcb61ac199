"""Sweep the thresholds of model-assisted rerunning; fronts of detection and cost, and their points of interest.

A model's probabilities enter as a histogram over the 102 thresholds. Every count and cost of every pair of
thresholds is then a difference of two running sums, so that a sweep costs one pass over the tests.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from flakehound.learn.evaluation.rerun_costs import pairwise_cost
from flakehound.learn.evaluation.scores import Confusion
from flakehound.learn.extras import Array

STEPS = 100  # thresholds are hundredths; the one behind the last, 1.01, no probability reaches


@dataclass(frozen=True, slots=True, kw_only=True)
class SingleTask:
    """What single-model sweeping needs of each test."""

    positive: Array  # 0 or 1
    delegated_s: Array  # what the technique spends on the test when the model does not decide
    suite_s: float  # one run of all tests, for each measurement of features


@dataclass(frozen=True, slots=True, kw_only=True)
class PairTask:
    """What two-model sweeping needs: the tests' costs, and the places of each victim and its polluter."""

    cost_s: Array
    victims: Array
    polluters: Array  # as long as `victims`
    suites: Array | None = None  # each test's, from 0: only tests of one suite are paired; None: all are of one


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepPoints:
    """Points of the parameter space, arrays of one length; means over repeats."""

    first: Array  # ω_l, or ω_V
    second: Array  # ω_u, or ω_P
    samples: Array  # n_F: measurements of the features; 0 where no model is asked
    detection: Array  # MCC, or the share of pairs found
    cost_s: Array

    def at(self, places: Array) -> SweepPoints:
        """Some of the points."""
        return SweepPoints(
            first=self.first[places],
            second=self.second[places],
            samples=self.samples[places],
            detection=self.detection[places],
            cost_s=self.cost_s[places],
        )

    def __len__(self) -> int:
        return len(self.first)


def thresholds() -> Array:
    """0, 0.01, …, 1.01."""
    import numpy as np

    return np.arange(STEPS + 2) / STEPS


def bins_of(probability: Array) -> Array:
    """The place of the largest threshold that each probability reaches."""
    import numpy as np

    # A mean over trees can lie a rounding error below the hundredth it stands for.
    places: Array = np.clip(np.floor(np.asarray(probability) * STEPS + 1e-7).astype(int), 0, STEPS)
    return places


def single_confusion(task: SingleTask, probability: Array) -> tuple[Confusion, Array]:
    """Counts (eq. 5) and costs without features for each pair of thresholds ω_l ≤ ω_u.

    Both are squares, rows by ω_l, columns by ω_u, of which only the part on and above the diagonal means anything.
    """
    place = bins_of(probability)
    positives = _below(place, task.positive)
    negatives = _below(place, 1 - task.positive)
    spent = _below(place, task.delegated_s)
    missed = positives[:-1, None] + 0 * negatives[None, :]
    wrong = (negatives[-1] - negatives)[None, :] + 0 * positives[:-1, None]
    counts = Confusion(tp=positives[-1] - missed, fp=wrong, fn=missed, tn=negatives[-1] - wrong)
    return counts, spent[None, :] - spent[:-1, None]


def _below(place: Array, weights: Array) -> Array:
    """For each threshold, the weights of the tests whose probability stays below it."""
    import numpy as np

    summed = np.cumsum(np.bincount(place, weights=weights, minlength=STEPS + 1))
    return np.concatenate([[0.0], summed])


def _reaching(place: Array, suites: Array, weights: Array | None = None) -> Array:
    """By suite and threshold up to 1, the weights of the tests whose probability reaches it."""
    import numpy as np

    width = STEPS + 1
    summed = np.bincount(suites * width + place, weights=weights, minlength=width * (int(suites.max()) + 1))
    return np.cumsum(summed.reshape(-1, width)[:, ::-1], axis=1)[:, ::-1]


def single_points(task: SingleTask, predicted: Iterable[tuple[int, Array]]) -> SweepPoints:
    """Every (ω_l, ω_u, n_F) with its mean MCC and cost; each repeat brings n_F and probabilities."""
    import numpy as np

    lower, upper = np.triu_indices(STEPS + 1, m=STEPS + 2)
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for samples, probability in predicted:
        counts, cost_s = single_confusion(task, probability)
        sums[samples].add(counts.mcc[lower, upper], cost_s[lower, upper])
    grid = thresholds()
    found = _points(sums, grid[lower], grid[upper], task.suite_s)
    return _with_original(found, (found.first == 0) & (found.second > 1), suite_s=task.suite_s)


def pair_points(task: PairTask, predicted: Iterable[tuple[int, Array, Array]]) -> SweepPoints:
    """Every (ω_V, ω_P, n_F) with its mean share of pairs and cost; a repeat brings both probabilities."""
    import numpy as np

    width = STEPS + 1
    suites = np.zeros(len(task.cost_s), dtype=int) if task.suites is None else task.suites
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for samples, victim, polluter in predicted:
        v_place, p_place = bins_of(victim), bins_of(polluter)
        v_counts, v_costs = _reaching(v_place, suites), _reaching(v_place, suites, task.cost_s)
        p_counts, p_costs = _reaching(p_place, suites), _reaching(p_place, suites, task.cost_s)
        joint = np.bincount(v_place[task.victims] * width + p_place[task.polluters], minlength=width * width)
        hits = np.cumsum(np.cumsum(joint.reshape(width, width)[::-1, ::-1], axis=0), axis=1)[::-1, ::-1]
        by_suite_s = pairwise_cost(
            v_counts[:, :, None], v_costs[:, :, None], p_counts[:, None, :], p_costs[:, None, :]
        )
        cost_s = by_suite_s.sum(axis=0)
        share = hits / len(task.victims) if len(task.victims) else np.full(hits.shape, np.nan)
        sums[samples].add(share.ravel(), cost_s.ravel())
    grid = thresholds()[:-1]
    suite_s = float(np.sum(task.cost_s))
    found = _points(sums, np.repeat(grid, width), np.tile(grid, width), suite_s)
    return _with_original(found, (found.first == 0) & (found.second == 0), suite_s=suite_s)


@dataclass(slots=True)
class _Sums:
    """Detection and cost of the repeats with one number of measurements, added up."""

    detection: Any = 0.0  # an array after the first repeat
    cost_s: Any = 0.0
    repeats: int = 0

    def add(self, detection: Array, cost_s: Array) -> None:
        """Add one more repeat."""
        self.detection, self.cost_s = self.detection + detection, self.cost_s + cost_s
        self.repeats += 1


def _points(sums: Mapping[int, _Sums], first: Array, second: Array, suite_s: float) -> SweepPoints:
    import numpy as np

    return SweepPoints(
        first=np.tile(first, len(sums)),
        second=np.tile(second, len(sums)),
        samples=np.repeat(list(sums), len(first)),
        detection=np.concatenate([one.detection / one.repeats for one in sums.values()]),
        cost_s=np.concatenate([one.cost_s / one.repeats + samples * suite_s for samples, one in sums.items()]),
    )


def _with_original(points: SweepPoints, original: Array, *, suite_s: float) -> SweepPoints:
    """The technique alone needs no features: one point of that kind, without their cost."""
    import numpy as np

    first = int(np.flatnonzero(original)[0])
    keep = ~original
    keep[first] = True
    cost_s, samples = points.cost_s.copy(), points.samples.copy()
    cost_s[first] -= samples[first] * suite_s
    samples[first] = 0
    whole = SweepPoints(
        first=points.first, second=points.second, samples=samples, detection=points.detection, cost_s=cost_s
    )
    return whole.at(np.flatnonzero(keep))


def pareto_front(points: SweepPoints) -> SweepPoints:
    """The points that no other beats in both, cheapest first; points without a defined detection are none."""
    import numpy as np

    usable = np.flatnonzero(~np.isnan(points.detection))
    order = usable[np.lexsort((-points.detection[usable], points.cost_s[usable]))]
    best = np.maximum.accumulate(points.detection[order])
    rises = np.concatenate([[True], best[1:] > best[:-1]])
    return points.at(order[rises])


def knee_of(points: SweepPoints) -> int:
    """The place nearest to detection 1 at no cost, where the dearest point costs 1."""
    import numpy as np

    dearest = points.cost_s.max() or 1.0
    return int(np.argmin(np.hypot(1 - points.detection, points.cost_s / dearest)))


def model_alone(points: SweepPoints) -> int | None:
    """The best point where the model decides everything; None where there is none."""
    import numpy as np

    found = np.flatnonzero((points.first == points.second) & ~np.isnan(points.detection))
    return None if not len(found) else int(found[np.argmax(points.detection[found])])


def technique_alone(points: SweepPoints) -> int:
    """The point where the technique does everything and no model is asked."""
    import numpy as np

    return int(np.flatnonzero(points.samples == 0)[0])
