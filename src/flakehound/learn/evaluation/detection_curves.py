"""Flaky tests found against time, over several suites."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from flakehound.learn.extras import Array

LOW, HIGH = 0.1, 0.9  # of the suites; the band lies between
_POINTS = 120


def detection_curves(found_s: Mapping[str, Sequence[Array]]) -> dict[str, Any]:
    """By policy the mean number of tests found at each of a few times, and a band that holds most suites.

    Takes, by policy and suite, when each flaky test is found; inf: never.
    """
    import numpy as np

    seconds = _times(one for several in found_s.values() for one in several)
    curves = {}
    for name, several in found_s.items():
        counts = np.array([np.searchsorted(np.sort(one), seconds, side="right") for one in several])
        low, high = np.quantile(counts, [LOW, HIGH], axis=0)
        curves[name] = {"mean": _plain(counts.mean(axis=0)), "low": _plain(low), "high": _plain(high)}
    return {"seconds": [float(f"{one:.6g}") for one in seconds], "policies": curves}


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
