"""How long Python tests take, and where among them the NOD ones stand, drawn after published figures.

CALLS §5.2 measured 10,511 tests, 543 of them NOD, 6,703 s in all: 95.32 % took less than a second; the dearest
40 % held 85.8 % of the NOD tests; cheapest first, 80 % of the NOD tests were reached after 7.5 % of the time. A
log-normal distribution has two numbers, which the first two figures fix; the others place the NOD tests in it, or
in times that were measured.
"""

from __future__ import annotations

import csv
import gzip
from collections.abc import Sequence
from importlib import resources
from math import log
from statistics import NormalDist

from flakehound.learn.extras import Array, RandomGenerator

MEAN_S = 6703 / 10511
BELOW_A_SECOND = 0.9532
DEAREST, NOD_IN_DEAREST = 0.4, 0.858
CHEAP_TIME, NOD_IN_CHEAP_TIME = 0.075, 0.8

MEASURED = "test_times.csv.gz"  # seconds of tests, by `benchmarks/test_times.py`
RESOLUTION_S = 0.001  # of these: a test of no time took half of it, on average

_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(BELOW_A_SECOND)
# Of the two solutions the wider one, with a median of 6 ms: the narrow one's is 0.6 s, and half of the NOD tests
# that CALLS misses take less than 4 ms.
SPREAD = _Z + (_Z**2 + 2 * log(MEAN_S)) ** 0.5
MIDDLE = -_Z * SPREAD
# The share of tests that the cheapest 7.5 % of the time runs, by the distribution's Lorenz curve.
CHEAP = _NORMAL.cdf(_NORMAL.inv_cdf(CHEAP_TIME) + SPREAD)


def python_times(flaky: int, steady: int, rng: RandomGenerator) -> tuple[Array, Array]:
    """Seconds of so many NOD tests and of so many others."""
    import numpy as np

    every = np.sort(np.exp(rng.normal(MIDDLE, SPREAD, flaky + steady)))
    shares = (0.0, 1 - NOD_IN_DEAREST, NOD_IN_CHEAP_TIME, 1.0)
    return _placed(every, flaky, shares, (0.0, 1 - DEAREST, CHEAP, 1.0), rng)


def measured_seconds() -> Array:
    """What tests of real suites took, as we measured it."""
    import numpy as np

    packed = (resources.files("flakehound.learn") / "facts" / MEASURED).read_bytes()
    rows = csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines())
    return np.array([max(RESOLUTION_S / 2, float(row["seconds"])) for row in rows])


def measured_times(seconds: Array, flaky: int, steady: int, rng: RandomGenerator) -> tuple[Array, Array]:
    """The same, drawn from measured seconds of tests.

    The dearest 40 % hold 85.8 % of the NOD tests here, too. What is said of 7.5 % of the time is true of another
    distribution only.
    """
    import numpy as np

    every = np.sort(rng.choice(seconds, flaky + steady))
    return _placed(every, flaky, (0.0, 1 - NOD_IN_DEAREST, 1.0), (0.0, 1 - DEAREST, 1.0), rng)


def _placed(
    every: Array, flaky: int, shares: Sequence[float], ranks: Sequence[float], rng: RandomGenerator
) -> tuple[Array, Array]:
    """Which of the sorted times are of NOD tests, with these shares of them up to these ranks of all."""
    import numpy as np

    chosen = np.zeros(len(every), dtype=bool)
    while (missing := flaky - int(chosen.sum())) > 0:
        drawn = np.interp(rng.random(missing), shares, ranks)
        chosen[np.minimum((drawn * len(every)).astype(int), len(every) - 1)] = True
    return rng.permutation(every[chosen]), every[~chosen]
