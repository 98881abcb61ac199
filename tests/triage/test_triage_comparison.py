"""What two counts of runs say about a change: the errors that docs/internals/triage-decisions.md states."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from verdict_samples import HOW, OTHER, counts, sides

from flakehound.triage.comparison import FIRST_RUNS, LOOKS, BothSides, Difference, RunCounts


@pytest.mark.parametrize(
    ("here", "base", "difference"),
    [
        ((5, 5), (0, 5), Difference.MORE_OFTEN_HERE),
        ((4, 4), (0, 4), Difference.OPEN),
        ((3, 3), (0, 3), Difference.OPEN),
        ((8, 40), (0, 40), Difference.MORE_OFTEN_HERE),
        ((20, 20), (6, 20), Difference.MORE_OFTEN_HERE),
        ((5, 5), (5, 5), Difference.OPEN),
        ((7, 7), (7, 7), Difference.OPEN),
        ((20, 20), (20, 20), Difference.AS_OFTEN_AT_BASE),
        ((20, 40), (20, 40), Difference.AS_OFTEN_AT_BASE),
        ((1, 1), (1, 1), Difference.OPEN),
        ((3, 3), (1, 3), Difference.OPEN),
        ((10, 10), (8, 10), Difference.OPEN),
        ((1, 20), (0, 40), Difference.OPEN),
        ((0, 40), (0, 40), Difference.OPEN),
        ((0, 40), (20, 40), Difference.OPEN),
        ((5, 5), (0, 0), Difference.OPEN),
    ],
)
def test_counts_decide_only_where_they_prove_something(here, base, difference):
    assert sides(here, base).difference is difference


def test_another_failure_at_the_base_is_neither_the_same_failure_nor_a_pass():
    assert sides((7, 7), (7, 7), at_base=OTHER).difference is Difference.OPEN
    assert sides((5, 5), (5, 5), at_base=OTHER).difference is Difference.OPEN


def test_a_second_way_to_fail_here_is_not_cleared_by_the_first():
    here = RunCounts(passed=5, failures={HOW: 5, OTHER: 5})

    assert BothSides(here=here, base=counts(8, 15)).difference is not Difference.AS_OFTEN_AT_BASE


def test_a_failure_without_a_known_signature_is_not_cleared():
    unknown = RunCounts(failures={"": 10})

    assert BothSides(here=unknown, base=unknown).difference is not Difference.AS_OFTEN_AT_BASE


@given(passed=st.integers(0, 60), failed=st.integers(1, 60), at_base=st.integers(1, 60))
def test_a_base_that_never_failed_clears_nothing(passed, failed, at_base):
    found = BothSides(here=RunCounts(passed=passed, failures={HOW: failed}), base=RunCounts(passed=at_base))

    assert found.difference is not Difference.AS_OFTEN_AT_BASE


@given(
    here=st.tuples(st.integers(1, 60), st.integers(0, 60)),
    base=st.tuples(st.integers(0, 60), st.integers(0, 60)),
)
def test_more_failures_at_the_base_never_make_it_a_regression(here, base):
    found = BothSides(here=counts(here[0], sum(here)), base=counts(base[0], sum(base)))
    more = BothSides(here=found.here, base=found.base + counts(1, 1))

    if found.difference is not Difference.MORE_OFTEN_HERE:
        assert more.difference is not Difference.MORE_OFTEN_HERE


def decided(rng: random.Random, rate_here: float, rate_base: float) -> Difference:
    """How the looks of a triage end, for these failure rates."""
    found = BothSides()
    for runs in (FIRST_RUNS, *LOOKS):
        more = runs - found.here.n
        found = BothSides(
            here=found.here + counts(sum(rng.random() < rate_here for _ in range(more)), more),
            base=found.base + counts(sum(rng.random() < rate_base for _ in range(more)), more),
        )
        if found.difference is not Difference.OPEN:
            return found.difference
    return Difference.OPEN


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.7, 0.9])
def test_equal_rates_are_called_a_regression_in_at_most_two_percent(rate):
    rng = random.Random(f"equal {rate}")

    found = [decided(rng, rate, rate) for _ in range(2000)]

    assert found.count(Difference.MORE_OFTEN_HERE) <= 0.02 * len(found)


@pytest.mark.parametrize(
    ("base", "here"), [(0.1, 0.9), (0.2, 0.8), (0.3, 1.0), (0.1, 0.5), (0.5, 0.85), (0.65, 1.0)]
)
def test_a_rate_that_rises_by_thirty_five_points_is_rarely_cleared(base, here):
    rng = random.Random(f"rise {base} {here}")

    found = [decided(rng, here, base) for _ in range(2000)]

    assert found.count(Difference.AS_OFTEN_AT_BASE) <= 0.05 * len(found)
