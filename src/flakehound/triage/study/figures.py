"""The figures of the thesis' evaluation: what reruns cost, and how often a change does not affect a test."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

QUICK_S = 0.01  # quicker tests are rerun more often, because one rerun takes too little time to measure
QUICK_RERUNS = 100
OTHER_RERUNS = 10


def reruns_to_time(duration_s: float) -> int:
    """How often to rerun a test whose reruns are timed."""
    return QUICK_RERUNS if duration_s < QUICK_S else OTHER_RERUNS


@dataclass(frozen=True, slots=True, kw_only=True)
class EquivalentReruns:
    """How many reruns in the same process take as long as one in a new process; the thesis' N_E."""

    reruns: float
    extrapolated: bool = False  # beyond the largest number of reruns that was measured

    def __str__(self) -> str:
        return f"{self.reruns:.2f}{'*' if self.extrapolated else ''}"


def equivalent_reruns(new_process_s: float, reruns_s: Mapping[int, float]) -> EquivalentReruns | None:
    """N_E by linear interpolation between the measured numbers of reruns, beyond them by extrapolation.

    `reruns_s` has the time of n reruns in the same process: the whole run without the base, t_n - t_base.
    None: more reruns do not take more time, or too few were measured.
    """
    known = sorted({0: 0.0, **reruns_s}.items())
    for (fewer, less_s), (more, most_s) in pairwise(known):
        if less_s <= new_process_s <= most_s and less_s < most_s:
            return EquivalentReruns(reruns=_on_line(new_process_s, fewer, less_s, more, most_s))
    if len(known) < 2:
        return None
    (fewer, less_s), (more, most_s) = known[-2:]
    if not less_s < most_s < new_process_s:
        return None
    return EquivalentReruns(reruns=_on_line(new_process_s, fewer, less_s, more, most_s), extrapolated=True)


def _on_line(new_process_s: float, fewer: int, less_s: float, more: int, most_s: float) -> float:
    return (new_process_s - less_s) * (more - fewer) / (most_s - less_s) + fewer


def same_process_s(base_s: float, whole_s: Mapping[int, float]) -> dict[int, float]:
    """The time of n reruns, from the time of a process with one run and n reruns."""
    return {reruns: took_s - base_s for reruns, took_s in whole_s.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class DisjointShare:
    """How many of the changes that a test was compared with do not affect it."""

    disjoint: int
    compared: int

    @property
    def percent(self) -> float:
        """The share in percent; `compared` is at least 1."""
        return 100 * self.disjoint / self.compared


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """A box of a box plot. Whiskers end at the 10th and the 90th percentile, as in the thesis."""

    least: float
    tenth: float
    quarter: float
    median: float
    three_quarters: float
    ninetieth: float
    most: float
    tests: int


def distribution_of(values: Sequence[float]) -> Distribution:
    """The distribution of at least one value; quantiles by linear interpolation."""
    ordered = sorted(values)
    return Distribution(
        least=ordered[0],
        tenth=_quantile(ordered, 0.1),
        quarter=_quantile(ordered, 0.25),
        median=statistics.median(ordered),
        three_quarters=_quantile(ordered, 0.75),
        ninetieth=_quantile(ordered, 0.9),
        most=ordered[-1],
        tests=len(ordered),
    )


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = share * (len(ordered) - 1)
    below = int(position)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (position - below)
