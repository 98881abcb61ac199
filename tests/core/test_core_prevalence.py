"""How likely a test is flaky before a search."""

from __future__ import annotations

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import (
    CALLING_SHARE,
    NOD_SHARE,
    ORDER_DEPENDENT_SHARE,
    FlakyWay,
    Priors,
    prior_given_calls,
    prior_given_passes,
    with_odds_ratio,
)

A, B = NodeId("t.py::a"), NodeId("t.py::b")


def test_a_test_that_is_not_listed_has_the_rates_of_the_literature():
    ways = Priors().by_way(A)

    nod = ways[FlakyWay.ANYWHERE] + ways[FlakyWay.IN_ITS_ORDER] + ways[FlakyWay.HASH_SEED] + ways[FlakyWay.COLD]
    assert nod == pytest.approx(NOD_SHARE)
    assert ways[FlakyWay.ORDER] + ways[FlakyWay.ALONE] == pytest.approx(ORDER_DEPENDENT_SHARE)


def test_a_listed_probability_holds_for_that_test_only():
    priors = Priors(nod={A: 0.4})

    assert priors.by_way(A)[FlakyWay.ANYWHERE] > 100 * priors.by_way(B)[FlakyWay.ANYWHERE]
    assert priors.by_way(A)[FlakyWay.ORDER] == priors.by_way(B)[FlakyWay.ORDER]


def test_calls_raise_or_lower_the_probability_and_leave_the_average_as_it_was():
    caller, other = prior_given_calls(NOD_SHARE, calls=True), prior_given_calls(NOD_SHARE, calls=False)

    assert other < NOD_SHARE < caller
    assert CALLING_SHARE * caller + (1 - CALLING_SHARE) * other == pytest.approx(NOD_SHARE, rel=0.01)


def test_passes_of_earlier_hunts_lower_the_probability_and_zero_passes_do_not_change_it():
    assert (
        prior_given_passes(NOD_SHARE, 200, FlakyWay.ANYWHERE)
        < prior_given_passes(NOD_SHARE, 20, FlakyWay.ANYWHERE)
        < NOD_SHARE
    )
    assert prior_given_passes(NOD_SHARE, 0, FlakyWay.ANYWHERE) == pytest.approx(NOD_SHARE)


def test_an_odds_ratio_multiplies_the_odds_of_a_number_and_of_every_element_of_an_array():
    np = pytest.importorskip("numpy", reason="needs flakehound[learn]")

    assert with_odds_ratio(0.5, 3.0) == pytest.approx(0.75)
    assert with_odds_ratio(np.array([0.5, 0.2]), np.array([3.0, 4.0])) == pytest.approx([0.75, 0.5])
