"""Orders that expose dependences between tests."""

from __future__ import annotations

from collections import Counter
from itertools import islice, pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulator import suite_of

from flakehound.hunt.search.orders import (
    orders_by_group,
    orders_of_whole_suite,
    orders_with_each_test_first,
    reversed_order,
    row_count,
    shuffles,
    square_row,
    zigzag,
)

SIZES = st.integers(min_value=2, max_value=40)


def suite_with_classes():
    return suite_of(
        "a.py::One::x",
        "a.py::One::y",
        "a.py::One::z",
        "a.py::Two::x",
        "a.py::Two::y",
        "b.py::x",
        "b.py::y",
        "c.py::x",
    )


def neighbours(rows):
    return Counter(pair for order in rows for pair in pairwise(order))


@given(SIZES)
def test_every_row_of_a_square_is_a_permutation(size):
    members = list(range(size))

    rows = [square_row(members, number) for number in range(row_count(size))]

    assert all(sorted(order) == members for order in rows)


@given(SIZES.map(lambda half: half * 2))
def test_for_an_even_number_of_tests_every_ordered_pair_is_adjacent_exactly_once(size):
    seen = neighbours(square_row(list(range(size)), number) for number in range(row_count(size)))

    assert seen == {(a, b): 1 for a in range(size) for b in range(size) if a != b}


@given(SIZES.map(lambda half: half * 2 + 1))
def test_for_an_odd_number_of_tests_every_ordered_pair_is_adjacent_at_least_once(size):
    seen = neighbours(square_row(list(range(size)), number) for number in range(row_count(size)))

    assert set(seen) == {(a, b) for a in range(size) for b in range(size) if a != b}


@given(SIZES)
def test_every_test_is_first_in_some_row(size):
    firsts = {square_row(list(range(size)), number)[0] for number in range(row_count(size))}

    assert firsts == set(range(size))


def test_the_zigzag_steps_are_all_different():
    size = 12
    steps = [(b - a) % size for a, b in pairwise(zigzag(size))]

    assert sorted(steps) == list(range(1, size))


@pytest.mark.parametrize(("size", "rows"), [(0, 0), (1, 0), (2, 2), (3, 4), (4, 4), (7, 8)])
def test_a_square_has_as_many_rows_as_tests_made_even(size, rows):
    assert row_count(size) == rows


@pytest.mark.parametrize("by", ["parent", "module"])
def test_grouped_rows_are_permutations_that_keep_groups_together(by):
    suite = suite_with_classes()
    home = {test.id: getattr(test, by) for test in suite.tests}

    rows = list(orders_by_group(suite, by, 3, frozenset(suite.order)))

    assert rows
    for order in rows:
        assert sorted(order) == sorted(suite.order)
        visits = [home[test] for test in order]
        changes = 1 + sum(a != b for a, b in pairwise(visits))
        assert changes == len(set(visits))


@pytest.mark.parametrize("by", ["parent", "module"])
def test_grouped_rows_bring_every_ordered_pair_of_a_group_side_by_side(by):
    suite = suite_with_classes()

    seen = neighbours(orders_by_group(suite, by, 3, frozenset(suite.order)))

    wanted = {(a, b) for members in suite.groups(by).values() for a in members for b in members if a != b}
    assert wanted <= set(seen)


def test_groups_of_one_test_need_no_rows_of_their_own():
    suite = suite_of("a.py::x", "b.py::x", "c.py::x")

    assert list(orders_by_group(suite, "module", 3, frozenset(suite.order))) == []


def test_full_rows_bring_every_ordered_pair_of_the_suite_side_by_side():
    suite = suite_with_classes()

    seen = neighbours(orders_of_whole_suite(suite, 3, frozenset(suite.order)))

    assert seen == {(a, b): 1 for a in suite.order for b in suite.order if a != b}


def test_tests_that_are_to_be_left_out_are_in_no_order():
    suite = suite_with_classes()
    kept = frozenset(suite.order[2:])

    orders = [*orders_by_group(suite, "parent", 3, kept), *orders_of_whole_suite(suite, 3, kept)]

    assert orders
    assert all(set(order) == kept for order in orders)


@given(st.integers(0, 2**32))
def test_orders_are_the_same_for_the_same_seed(seed):
    suite = suite_with_classes()
    everything = frozenset(suite.order)

    def drawn():
        return (
            list(orders_by_group(suite, "parent", seed, everything)),
            list(orders_of_whole_suite(suite, seed, everything)),
            list(islice(shuffles(suite.order, seed), 5)),
        )

    assert drawn() == drawn()


def test_orders_differ_between_seeds():
    suite = suite_with_classes()
    everything = frozenset(suite.order)

    assert list(orders_of_whole_suite(suite, 1, everything)) != list(orders_of_whole_suite(suite, 2, everything))
    assert list(islice(shuffles(suite.order, 1), 3)) != list(islice(shuffles(suite.order, 2), 3))


def test_shuffles_are_permutations_without_end():
    order = suite_with_classes().order

    drawn = list(islice(shuffles(order, 7), 50))

    assert all(sorted(one) == sorted(order) for one in drawn)
    assert len(set(drawn)) > 40


def test_each_test_comes_first_once_before_all_others_in_their_order():
    order = suite_of("a", "b", "c").order
    a, b, c = order

    assert list(orders_with_each_test_first(order)) == [(a, b, c), (b, a, c), (c, a, b)]


def test_the_reversed_order_is_the_original_backwards():
    order = suite_of("a", "b", "c").order

    assert reversed_order(order) == order[::-1]
