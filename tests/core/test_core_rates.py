"""Failure rates against values computed by hand, and the properties every interval must have."""

from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flakehound.core.statistics.rates import Rate, failure_rate, fisher_p_value, highest_unseen_rate

RUNS = st.integers(min_value=1, max_value=5000)


@st.composite
def counts(draw):
    runs = draw(RUNS)
    return draw(st.integers(min_value=0, max_value=runs)), runs


@st.composite
def two_tallies(draw):
    runs_a, runs_b = draw(st.integers(1, 60)), draw(st.integers(1, 60))
    return draw(st.integers(0, runs_a)), runs_a, draw(st.integers(0, runs_b)), runs_b


def test_a_test_that_never_ran_may_fail_at_any_rate():
    assert failure_rate(0, 0) == Rate(mean=0.0, low=0.0, high=1.0)


def test_one_failure_in_ten_has_the_wilson_interval_of_the_textbooks():
    rate = failure_rate(1, 10)

    assert rate.mean == 0.1
    assert rate.low == pytest.approx(0.0178762, abs=1e-6)
    assert rate.high == pytest.approx(0.4041500, abs=1e-6)


def test_five_failures_in_ten_have_an_interval_around_one_half():
    rate = failure_rate(5, 10)

    assert rate.low == pytest.approx(0.2365931, abs=1e-6)
    assert rate.low + rate.high == pytest.approx(1.0)


@pytest.mark.parametrize(("runs", "highest"), [(1, 0.95), (2, 0.7763932), (10, 0.2588656), (100, 0.0295130)])
def test_passes_in_a_row_leave_the_rate_that_would_show_with_95_percent(runs, highest):
    assert highest_unseen_rate(runs) == pytest.approx(highest, abs=1e-6)


@pytest.mark.parametrize("runs", [100, 1000, 100_000])
def test_many_passes_in_a_row_give_the_rule_of_three(runs):
    assert highest_unseen_rate(runs) == pytest.approx(3 / runs, rel=0.02)


def test_no_runs_leave_every_rate_possible():
    assert highest_unseen_rate(0) == 1.0


def test_never_seen_failing_is_bounded_by_the_rule_of_three_and_not_by_zero():
    assert failure_rate(0, 30) == Rate(mean=0.0, low=0.0, high=highest_unseen_rate(30))


def test_always_seen_failing_mirrors_never_seen_failing():
    never, ever = failure_rate(0, 30), failure_rate(30, 30)

    assert ever.low == pytest.approx(1.0 - never.high)
    assert (ever.mean, ever.high) == (1.0, 1.0)


@given(counts())
def test_the_interval_holds_the_mean_and_stays_between_zero_and_one(failed_of):
    failed, runs = failed_of

    rate = failure_rate(failed, runs)

    assert 0.0 <= rate.low <= rate.mean <= rate.high <= 1.0


@given(counts())
def test_the_interval_is_symmetric_in_passes_and_failures(failed_of):
    failed, runs = failed_of

    rate, mirrored = failure_rate(failed, runs), failure_rate(runs - failed, runs)

    assert rate.low == pytest.approx(1.0 - mirrored.high, abs=1e-9)


@given(RUNS, st.data())
def test_one_more_failure_never_lowers_the_interval_of_a_flaky_test(runs, data):
    failed = data.draw(st.integers(1, max(1, runs - 2)))
    if failed + 1 >= runs:
        return

    fewer, more = failure_rate(failed, runs), failure_rate(failed + 1, runs)

    assert fewer.low <= more.low
    assert fewer.high <= more.high


@given(RUNS)
def test_one_more_pass_tightens_the_bound_on_what_was_never_seen(runs):
    assert highest_unseen_rate(runs + 1) < highest_unseen_rate(runs)


def test_fishers_tea_lady_with_all_four_right_is_one_in_seventy():
    assert fisher_p_value(4, 4, 0, 4) == pytest.approx(1 / 70)


def test_fishers_tea_lady_with_three_of_four_right_is_seventeen_in_seventy():
    assert fisher_p_value(3, 4, 1, 4) == pytest.approx(17 / 70)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((5, 5, 0, 5), Fraction(1, 252)),
        ((3, 3, 0, 6), Fraction(1, 84)),
        ((2, 3, 1, 5), Fraction(16, 56)),
        ((0, 5, 0, 9), Fraction(1)),
    ],
)
def test_the_p_value_equals_counting_by_hand(counts, expected):
    assert fisher_p_value(*counts) == pytest.approx(float(expected))


@given(two_tallies())
def test_the_p_value_is_a_probability(tallies):
    assert 0.0 < fisher_p_value(*tallies) <= 1.0 + 1e-12


@given(two_tallies())
def test_the_p_value_of_the_fewest_possible_failures_is_one(tallies):
    failed_a, runs_a, failed_b, runs_b = tallies
    least_in_a = max(0, failed_a + failed_b - runs_b)

    chance = fisher_p_value(least_in_a, runs_a, failed_a + failed_b - least_in_a, runs_b)

    assert chance == pytest.approx(1.0)


@given(two_tallies())
def test_moving_a_failure_into_the_first_group_never_raises_the_p_value(tallies):
    failed_a, runs_a, failed_b, runs_b = tallies
    if failed_a == runs_a or failed_b == 0:
        return

    before = fisher_p_value(failed_a, runs_a, failed_b, runs_b)
    after = fisher_p_value(failed_a + 1, runs_a, failed_b - 1, runs_b)

    assert after <= before + 1e-12


@given(st.integers(1, 30), st.integers(1, 30))
def test_all_failures_on_one_side_are_one_arrangement_among_all(failing, passing):
    assert fisher_p_value(failing, failing, 0, passing) == pytest.approx(1 / comb(failing + passing, failing))
