"""What is thought of a test before a search."""

from __future__ import annotations

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import (
    CALLS_OF_ALL,
    NOD,
    ORDER_DEPENDENT,
    Priors,
    Way,
    knowing_calls,
    knowing_passes,
)

A, B = NodeId("t.py::a"), NodeId("t.py::b")


def test_a_test_nobody_knows_has_the_rates_of_the_literature():
    ways = Priors().of(A)

    nod = ways[Way.ANYWHERE] + ways[Way.IN_ITS_ORDER] + ways[Way.HASH_SEED] + ways[Way.COLD]
    assert nod == pytest.approx(NOD)
    assert ways[Way.ORDER] + ways[Way.ALONE] == pytest.approx(ORDER_DEPENDENT)


def test_a_named_probability_stands_for_that_test_only():
    priors = Priors(nod={A: 0.4})

    assert priors.of(A)[Way.ANYWHERE] > 100 * priors.of(B)[Way.ANYWHERE]
    assert priors.of(A)[Way.ORDER] == priors.of(B)[Way.ORDER]


def test_calls_raise_or_lower_the_probability_and_leave_the_average_as_it_was():
    called, silent = knowing_calls(NOD, calls=True), knowing_calls(NOD, calls=False)

    assert silent < NOD < called
    assert CALLS_OF_ALL * called + (1 - CALLS_OF_ALL) * silent == pytest.approx(NOD, rel=0.01)


def test_passes_of_earlier_hunts_lower_it_and_none_changes_nothing():
    assert knowing_passes(NOD, 200, Way.ANYWHERE) < knowing_passes(NOD, 20, Way.ANYWHERE) < NOD
    assert knowing_passes(NOD, 0, Way.ANYWHERE) == pytest.approx(NOD)
