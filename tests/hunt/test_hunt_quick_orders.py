"""The orders of the quick tests of a long suite."""

from __future__ import annotations

from simulator import suite_of

from flakehound.core.history import History
from flakehound.hunt.search.quick_orders import quick_orders


def test_few_quick_tests_have_few_orders():
    """In a minute of filelock two tests had a time, and the hunt searched another order of them for ever."""
    suite = suite_of("f.py::a", "f.py::b", "f.py::c")

    orders = list(quick_orders(History(suite), suite.order, 1, 1.0))

    assert len(orders) == len(set(orders)) > 1
