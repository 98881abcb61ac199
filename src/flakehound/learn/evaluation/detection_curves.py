"""Flaky tests found over time, in several suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.learn.extras import Array

LOW_QUANTILE, HIGH_QUANTILE = 0.1, 0.9  # of the suites: limits of the band
_POINTS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBand:
    """Number of tests found at each time: the mean over the suites, and a band that contains most of them."""

    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBands:
    """The curves of several policies at the same times."""

    seconds: list[float]
    policies: dict[str, CurveBand]


def detection_curves(found_s: Mapping[str, Sequence[Array]]) -> CurveBands:
    """The curve of each policy.

    `found_s` has, for each policy and suite, the time at which each flaky test is found; inf: never.
    """
    import numpy as np

    seconds = _curve_times(suite_s for suites in found_s.values() for suite_s in suites)
    curves = {}
    for policy, suites in found_s.items():
        counts = np.array([np.searchsorted(np.sort(suite_s), seconds, side="right") for suite_s in suites])
        low, high = np.quantile(counts, [LOW_QUANTILE, HIGH_QUANTILE], axis=0)
        curves[policy] = CurveBand(mean=_rounded(counts.mean(axis=0)), low=_rounded(low), high=_rounded(high))
    return CurveBands(seconds=[float(f"{second:.6g}") for second in seconds], policies=curves)


def _curve_times(found_s: Iterable[Array]) -> Array:
    """Times from the first detection to the last, with a constant ratio between neighbours."""
    import numpy as np

    every_s = np.concatenate(list(found_s))
    finite_s = every_s[np.isfinite(every_s)]
    if not len(finite_s):
        return np.array([1.0])
    times = np.geomspace(max(float(finite_s.min()), 1e-6), max(float(finite_s.max()), 1e-6), _POINTS)
    times[-1] *= 1 + 1e-5  # rounding to six digits must not put the last time before the last detection
    return times


def _rounded(values: Array) -> list[float]:
    return [round(float(value), 3) for value in values]
