"""Drawn durations of Python tests have the published figures."""

from __future__ import annotations

import numpy as np
import pytest

from flakehound.learn.evaluation.duration_samples import (
    LOG_MEAN,
    LOG_STD,
    TESTS_IN_FASTEST_TIME_SHARE,
    draw_durations,
    draw_measured_durations,
)


def test_the_drawn_tests_have_the_published_figures():
    flaky_s, steady_s = draw_durations(5_000, 95_000, np.random.default_rng(3))
    every_s = np.sort(np.concatenate([flaky_s, steady_s]))

    assert (every_s < 1).mean() == pytest.approx(0.9532, abs=0.005)
    assert (flaky_s > np.quantile(every_s, 0.6)).mean() == pytest.approx(0.858, abs=0.02)
    assert (flaky_s <= np.quantile(every_s, TESTS_IN_FASTEST_TIME_SHARE)).mean() == pytest.approx(0.8, abs=0.02)


def test_the_distribution_has_the_published_mean_and_its_fastest_part_the_published_time():
    z = np.random.default_rng(3).normal(size=4_000_000)
    seconds = np.sort(np.exp(LOG_MEAN + LOG_STD * z))
    # The mean of such a wide distribution depends on its few largest values, so it is computed, not drawn.
    mean_s = np.exp(LOG_MEAN + LOG_STD**2 / 2)

    fastest_s = seconds[: int(TESTS_IN_FASTEST_TIME_SHARE * len(seconds))].sum() / len(seconds)

    assert mean_s == pytest.approx(6703 / 10511, rel=0.001)
    assert fastest_s / mean_s == pytest.approx(0.075, rel=0.02)


def test_the_requested_numbers_are_drawn_and_a_seed_repeats_them():
    first, second = (draw_durations(50, 60, np.random.default_rng(1)) for _ in range(2))

    assert [len(part) for part in first] == [50, 60]
    assert all((a == b).all() for a, b in zip(first, second, strict=True))


def test_measured_durations_are_drawn_with_most_nod_tests_among_the_slowest():
    rng = np.random.default_rng(3)
    seconds = np.exp(rng.normal(-5, 2.5, 1_000))

    flaky_s, steady_s = draw_measured_durations(seconds, 2_000, 98_000, rng)

    every_s = np.sort(np.concatenate([flaky_s, steady_s]))
    assert (len(flaky_s), len(steady_s)) == (2_000, 98_000)
    assert np.isin(every_s, seconds).all()
    assert every_s.mean() == pytest.approx(seconds.mean(), rel=0.1)
    assert (flaky_s >= np.quantile(every_s, 0.6)).mean() == pytest.approx(0.858, abs=0.03)


def test_measured_durations_can_all_be_equal():
    flaky_s, steady_s = draw_measured_durations(np.full(9, 0.25), 50, 60, np.random.default_rng(1))

    assert set(flaky_s) == set(steady_s) == {0.25}
