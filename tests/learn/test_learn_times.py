"""Times of Python tests, drawn: the published figures come out again."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation.test_durations import CHEAP, MIDDLE, SPREAD, measured_times, python_times


def test_the_drawn_tests_have_the_published_figures():
    flaky_s, steady_s = python_times(5_000, 95_000, np.random.default_rng(3))
    every = np.sort(np.concatenate([flaky_s, steady_s]))

    assert (every < 1).mean() == pytest.approx(0.9532, abs=0.005)
    assert (flaky_s > np.quantile(every, 0.6)).mean() == pytest.approx(0.858, abs=0.02)
    assert (flaky_s <= np.quantile(every, CHEAP)).mean() == pytest.approx(0.8, abs=0.02)


def test_the_distribution_has_the_published_mean_and_its_cheap_part_the_published_time():
    z = np.random.default_rng(3).normal(size=4_000_000)
    seconds = np.sort(np.exp(MIDDLE + SPREAD * z))
    # The mean of so wide a distribution hangs on its few largest values, so it is summed without drawing them.
    mean = np.exp(MIDDLE + SPREAD**2 / 2)

    cheap = seconds[: int(CHEAP * len(seconds))].sum() / len(seconds)

    assert mean == pytest.approx(6703 / 10511, rel=0.001)
    assert cheap / mean == pytest.approx(0.075, rel=0.02)


def test_as_many_are_drawn_as_were_asked_for_and_a_seed_repeats_them():
    first, second = (python_times(50, 60, np.random.default_rng(1)) for _ in range(2))

    assert [len(part) for part in first] == [50, 60]
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_measured_times_are_drawn_as_they_are_with_the_nod_tests_among_the_dear_ones():
    rng = np.random.default_rng(3)
    seconds = np.exp(rng.normal(-5, 2.5, 1_000))

    flaky_s, steady_s = measured_times(seconds, 2_000, 98_000, rng)

    every = np.sort(np.concatenate([flaky_s, steady_s]))
    assert (len(flaky_s), len(steady_s)) == (2_000, 98_000)
    assert np.isin(every, seconds).all()
    assert every.mean() == pytest.approx(seconds.mean(), rel=0.1)
    assert (flaky_s >= np.quantile(every, 0.6)).mean() == pytest.approx(0.858, abs=0.03)


def test_measured_times_that_are_all_the_same_have_no_dear_tests():
    flaky_s, steady_s = measured_times(np.full(9, 0.25), 50, 60, np.random.default_rng(1))

    assert set(flaky_s) == set(steady_s) == {0.25}
