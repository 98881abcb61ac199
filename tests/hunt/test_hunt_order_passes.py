"""Orders of a part of the tests count for polluters in this part only."""

from __future__ import annotations

import pytest
from long_suite_samples import TESTS, at, hunted
from simulator import fails_after, fails_when_repeated, suite_of

from flakehound.core.history import History
from flakehound.core.plans import Setting, SingleRun
from flakehound.core.statistics.prevalence import FlakyWay, Priors
from flakehound.core.verdicts import Kind
from flakehound.hunt.search.expected_gain import ExpectedGain
from flakehound.hunt.search.order_passes import OrderPasses

NAMES = [f"t{number}" for number in range(10)]


def other_order(tests) -> SingleRun:
    return SingleRun(order=tuple(reversed(tests)), why="", setting=Setting.SHUFFLED)


@pytest.mark.parametrize(("tests", "parts"), [(1, 1), (2, 1), (4, 2), (6, 3), (9, 4), (10, 5)])
def test_an_order_counts_for_the_parts_of_the_suite_that_it_has(tests: int, parts: int):
    suite = suite_of(*NAMES)
    passes = OrderPasses(History(suite))

    passes.add(suite.order[:tests])

    assert list(passes.by_part(suite.order[0])) == [1] * parts + [0] * (5 - parts)
    assert passes.orders_with(suite.order[9]) == (tests == 10)


def test_many_orders_of_quick_tests_leave_the_gain_of_an_order_with_slow_ones():
    suite = suite_of(*NAMES)
    quick, nearly_all = suite.order[:4], suite.order[:9]
    gain = ExpectedGain(History(suite), Priors())
    before = gain.of_plan(other_order(quick)), gain.of_plan(other_order(nearly_all))

    for _run in range(20):
        gain.count_planned(other_order(quick))

    left = gain.of_plan(other_order(quick)) / before[0], gain.of_plan(other_order(nearly_all)) / before[1]
    assert left[0] < 0.2
    assert left[1] > 0.5


def test_second_executions_in_an_order_count_as_repetitions():
    suite = suite_of(*NAMES)
    gain = ExpectedGain(History(suite), Priors())
    first, second = suite.order[:2]
    twice = SingleRun(order=(first, first, second), why="", setting=Setting.PROBE)

    gain.count_planned(twice)

    assert gain.of_way(first, FlakyWay.REPEATED) < gain.of_way(second, FlakyWay.REPEATED)


def test_tests_that_no_group_repeated_run_twice_in_one_other_order():
    found = hunted({350: fails_when_repeated, 100: fails_after(at(380), cleaners=[at(50)])}, time_left_s=900.0)

    assert found.verdicts[at(350)].kind is Kind.NON_IDEMPOTENT
    orders = [record.order for record in found.history.records if record.setting is Setting.SHUFFLED]
    (with_repeated,) = [order for order in orders if len(set(order)) < len(order)]
    assert len(set(with_repeated)) >= 0.4 * TESTS
