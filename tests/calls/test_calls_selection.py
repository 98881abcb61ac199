"""The selection of functions: the same result as the published algorithm, with lazy counting."""

from __future__ import annotations

import random

import pytest
from calls_samples import c, python
from hypothesis import given, settings
from hypothesis import strategies as st

from flakehound.calls.selection import (
    CallShares,
    CallTable,
    TracedTest,
    call_shares,
    cross_validate_selection,
    f_beta,
    select_by_cause,
    select_for_flaky,
    selection_quality,
)
from flakehound.core.calls import Function
from flakehound.core.verdicts import Cause

SLEEP, RANDOM, LEN = c("time", "sleep"), c("_random", "random", "Random"), c("builtins", "len")
OWN = python("total", "Cart")


def a_test(
    *functions: Function, flaky: bool = False, project: str = "shop", cause: Cause | None = None
) -> TracedTest:
    return TracedTest(project=project, is_flaky=flaky, functions=frozenset(functions), cause=cause)


def algorithm_1(tests: list[TracedTest], functions: list[Function], beta: float) -> list[Function]:
    """As published: every function counted in every round."""

    def objective(chosen: list[Function]) -> float:
        callers = [test for test in tests if test.functions & set(chosen)]
        flaky = sum(test.is_flaky for test in callers)
        return f_beta(flaky, len(callers) - flaky, sum(test.is_flaky for test in tests), beta)

    chosen: list[Function] = []
    highest = 0.0
    while True:
        new = None
        for function in functions:
            value = objective([*chosen, function])
            if value > highest:
                highest, new = value, function
        if new is None:
            return chosen
        chosen.append(new)


@st.composite
def data_sets(draw: st.DrawFn) -> list[TracedTest]:
    names = [c("m", f"f{n}") for n in range(draw(st.integers(1, 9)))]
    rows = draw(st.lists(st.tuples(st.sets(st.sampled_from(names)), st.booleans()), min_size=1, max_size=25))
    return [a_test(*functions, flaky=flaky) for functions, flaky in rows]


@settings(max_examples=100, deadline=None)
@given(data_sets(), st.sampled_from([0.5, 1.0, 5.0, 24.0]))
def test_lazy_counting_selects_what_the_published_algorithm_selects(tests, beta):
    table = CallTable(tests)

    assert select_for_flaky(table, beta) == algorithm_1(tests, list(table.callers), beta)


def test_f_beta_is_the_textbook_one():
    precision, recall = 3 / 5, 3 / 4

    assert f_beta(3, 2, 4, 1.0) == pytest.approx(2 * precision * recall / (precision + recall))
    assert f_beta(3, 2, 4, 24.0) == pytest.approx((1 + 576) * precision * recall / (576 * precision + recall))
    assert f_beta(0, 0, 0, 1.0) == 0.0


def test_a_larger_beta_accepts_more_false_alarms():
    tests = [a_test(SLEEP, LEN, flaky=True), a_test(LEN, flaky=True), *[a_test(LEN)] * 8, *[a_test()] * 30]

    careful, greedy = select_for_flaky(CallTable(tests), 0.5), select_for_flaky(CallTable(tests), 24.0)

    assert careful == [SLEEP]
    assert greedy == [LEN]


def test_functions_are_selected_for_each_cause_separately_and_joined():
    tests = [
        a_test(SLEEP, LEN, flaky=True, cause=Cause.ASYNC_WAIT),
        a_test(RANDOM, LEN, flaky=True, cause=Cause.RANDOMNESS),
        a_test(OWN, flaky=True),  # no label: it may have any cause, so it counts for none
        *[a_test(LEN)] * 20,
    ]

    chosen = select_by_cause(tests, CallTable(tests), 5.0)

    assert {(one.function, one.cause) for one in chosen} == {(SLEEP, Cause.ASYNC_WAIT), (RANDOM, Cause.RANDOMNESS)}


def test_only_c_functions_are_candidates_when_asked():
    tests = [a_test(OWN, SLEEP, flaky=True), a_test(SLEEP), a_test()]

    assert select_for_flaky(CallTable(tests), 5.0) == [OWN]
    assert select_for_flaky(CallTable(tests, kinds=("c",)), 5.0) == [SLEEP]


def test_shares_count_flaky_callers_and_all_callers():
    tests = [a_test(SLEEP, flaky=True), a_test(flaky=True), a_test(SLEEP), a_test()]

    found = call_shares(CallTable(tests), [SLEEP])

    assert found == CallShares(flaky_callers=1, flaky_tests=2, callers=2, tests=4)
    assert (found.flaky_share, found.share) == (0.5, 0.5)


def test_solo_and_cryptic_functions_are_counted_and_the_rest_remains():
    tests = [
        a_test(SLEEP, OWN, flaky=True, project="shop"),
        a_test(SLEEP, LEN, flaky=True, project="bank"),
        a_test(LEN, flaky=True, project="shop"),
    ]

    quality = selection_quality([SLEEP, OWN, LEN], tests, CallTable(tests))

    assert (quality.original, quality.solo, quality.cryptic) == (3, 1, 2)
    assert quality.remaining == (SLEEP,)


def test_every_test_is_held_out_once_and_the_seed_decides_where():
    rng = random.Random(5)
    tests = [a_test(*([SLEEP] if rng.random() < 0.5 else []), LEN, flaky=rng.random() < 0.2) for _ in range(53)]

    folds = cross_validate_selection(CallTable(tests), 5.0, folds=5, seed=1)

    assert sum(fold.held_out.tests for fold in folds) == 53
    assert sum(fold.held_out.flaky_tests for fold in folds) == sum(test.is_flaky for test in tests)
    assert folds == cross_validate_selection(CallTable(tests), 5.0, folds=5, seed=1)
    assert max(fold.held_out.tests for fold in folds) - min(fold.held_out.tests for fold in folds) <= 1
