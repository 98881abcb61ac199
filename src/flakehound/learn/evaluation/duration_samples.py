"""Draw durations of Python tests, and which of them belong to NOD tests, by published figures.

CALLS §5.2 measured 10,511 tests, 543 of them NOD, 6,703 s in total: 95.32 % took less than a second; the slowest
40 % contained 85.8 % of the NOD tests; fastest first, 80 % of the NOD tests were reached after 7.5 % of the time.
A log-normal distribution has two parameters, which the mean and the share below a second determine. The other
figures say how NOD tests are distributed among the sorted durations, whether these are drawn or measured.
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
BELOW_ONE_SECOND_SHARE = 0.9532
SLOWEST_SHARE, NOD_AMONG_SLOWEST_SHARE = 0.4, 0.858
FASTEST_TIME_SHARE, NOD_IN_FASTEST_TIME_SHARE = 0.075, 0.8

MEASURED_FILE = "test_times.csv.gz"  # written by `benchmarks/test_times.py`
MEASURED_RESOLUTION_S = 0.001  # a recorded 0 stands for half of it, on average

_NORMAL = NormalDist()
_Z = _NORMAL.inv_cdf(BELOW_ONE_SECOND_SHARE)
# Mean and standard deviation of the logarithms. Of the two solutions the wider one, with a median of 6 ms: the
# median of the other one is 0.6 s, but half of the NOD tests that CALLS misses take less than 4 ms.
LOG_STD = _Z + (_Z**2 + 2 * log(MEAN_S)) ** 0.5
LOG_MEAN = -_Z * LOG_STD
# The share of tests that run in the first 7.5 % of the time, fastest first, by the distribution's Lorenz curve.
TESTS_IN_FASTEST_TIME_SHARE = _NORMAL.cdf(_NORMAL.inv_cdf(FASTEST_TIME_SHARE) + LOG_STD)


def draw_durations(flaky: int, steady: int, rng: RandomGenerator) -> tuple[Array, Array]:
    """Draw the seconds of this many NOD tests and of this many other tests from the published distribution."""
    import numpy as np

    sorted_s = np.sort(np.exp(rng.normal(LOG_MEAN, LOG_STD, flaky + steady)))
    nod_shares = (0.0, 1 - NOD_AMONG_SLOWEST_SHARE, NOD_IN_FASTEST_TIME_SHARE, 1.0)
    ranks = (0.0, 1 - SLOWEST_SHARE, TESTS_IN_FASTEST_TIME_SHARE, 1.0)
    return _split_by_kind(sorted_s, flaky, nod_shares, ranks, rng)


def measured_durations() -> Array:
    """The measured seconds of tests of real suites."""
    import numpy as np

    packed = (resources.files("flakehound.learn") / "facts" / MEASURED_FILE).read_bytes()
    rows = csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines())
    return np.array([max(MEASURED_RESOLUTION_S / 2, float(row["seconds"])) for row in rows])


def draw_measured_durations(
    measured_s: Array, flaky: int, steady: int, rng: RandomGenerator
) -> tuple[Array, Array]:
    """Draw the seconds of this many NOD tests and of this many other tests from measured durations.

    The slowest 40 % contain 85.8 % of the NOD tests here, too. The figure on 7.5 % of the time is not used,
    because it holds only for the published distribution.
    """
    import numpy as np

    sorted_s = np.sort(rng.choice(measured_s, flaky + steady))
    nod_shares, ranks = (0.0, 1 - NOD_AMONG_SLOWEST_SHARE, 1.0), (0.0, 1 - SLOWEST_SHARE, 1.0)
    return _split_by_kind(sorted_s, flaky, nod_shares, ranks, rng)


def _split_by_kind(
    sorted_s: Array, flaky: int, nod_shares: Sequence[float], ranks: Sequence[float], rng: RandomGenerator
) -> tuple[Array, Array]:
    """Choose which sorted durations belong to NOD tests: these shares of the NOD tests are below these ranks."""
    import numpy as np

    is_nod = np.zeros(len(sorted_s), dtype=bool)
    while (missing := flaky - int(is_nod.sum())) > 0:
        drawn_ranks = np.interp(rng.random(missing), nod_shares, ranks)
        is_nod[np.minimum((drawn_ranks * len(sorted_s)).astype(int), len(sorted_s) - 1)] = True
    return rng.permutation(sorted_s[is_nod]), sorted_s[~is_nod]
