"""What is thought of a test before a search."""

from __future__ import annotations

import pytest

from flakehound.core.outcomes import NodeId
from flakehound.core.statistics.prevalence import (
    CALLS_OF_ALL,
    NOD,
    ORDER_DEPENDENT,
    FlakyWay,
    Priors,
    knowing_calls,
    knowing_passes,
)

A, B = NodeId("t.py::a"), NodeId("t.py::b")


def test_a_test_nobody_knows_has_the_rates_of_the_literature():
    ways = Priors().of(A)

    nod = ways[FlakyWay.ANYWHERE] + ways[FlakyWay.IN_ITS_ORDER] + ways[FlakyWay.HASH_SEED] + ways[FlakyWay.COLD]
    assert nod == pytest.approx(NOD)
    assert ways[FlakyWay.ORDER] + ways[FlakyWay.ALONE] == pytest.approx(ORDER_DEPENDENT)


def test_a_named_probability_stands_for_that_test_only():
    priors = Priors(nod={A: 0.4})

    assert priors.of(A)[FlakyWay.ANYWHERE] > 100 * priors.of(B)[FlakyWay.ANYWHERE]
    assert priors.of(A)[FlakyWay.ORDER] == priors.of(B)[FlakyWay.ORDER]


def test_calls_raise_or_lower_the_probability_and_leave_the_average_as_it_was():
    called, silent = knowing_calls(NOD, calls=True), knowing_calls(NOD, calls=False)

    assert silent < NOD < called
    assert CALLS_OF_ALL * called + (1 - CALLS_OF_ALL) * silent == pytest.approx(NOD, rel=0.01)


def test_passes_of_earlier_hunts_lower_it_and_none_changes_nothing():
    assert knowing_passes(NOD, 200, FlakyWay.ANYWHERE) < knowing_passes(NOD, 20, FlakyWay.ANYWHERE) < NOD
    assert knowing_passes(NOD, 0, FlakyWay.ANYWHERE) == pytest.approx(NOD)
