"""Flaky tests found against time, over several suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from flakehound.learn.extras import Array

LOW, HIGH = 0.1, 0.9  # of the suites; the band lies between
_POINTS = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBand:
    """Tests found at each time: the mean over the suites, and a band that holds most of them."""

    mean: list[float]
    low: list[float]
    high: list[float]


@dataclass(frozen=True, slots=True, kw_only=True)
class CurveBands:
    """The curves of several policies at the same times."""

    seconds: list[float]
    policies: dict[str, CurveBand]


def detection_curves(found_s: Mapping[str, Sequence[Array]]) -> CurveBands:
    """The curve of each policy; takes, by policy and suite, when each flaky test is found; inf: never."""
    import numpy as np

    seconds = _times(one for several in found_s.values() for one in several)
    curves = {}
    for name, several in found_s.items():
        counts = np.array([np.searchsorted(np.sort(one), seconds, side="right") for one in several])
        low, high = np.quantile(counts, [LOW, HIGH], axis=0)
        curves[name] = CurveBand(mean=_plain(counts.mean(axis=0)), low=_plain(low), high=_plain(high))
    return CurveBands(seconds=[float(f"{one:.6g}") for one in seconds], policies=curves)


def _times(found_s: Iterable[Array]) -> Array:
    """From the first detection to the last, each so many times later than the one before."""
    import numpy as np

    every = np.concatenate(list(found_s))
    known = every[np.isfinite(every)]
    if not len(known):
        return np.array([1.0])
    times = np.geomspace(max(float(known.min()), 1e-6), max(float(known.max()), 1e-6), _POINTS)
    times[-1] *= 1 + 1e-5  # the last digits are cut off
    return times


def _plain(values: Array) -> list[float]:
    return [round(float(value), 3) for value in values]
