"""Plans and suites."""

from __future__ import annotations

from dataclasses import replace

import pytest
from core_samples import A, B, C, D, a_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import (
    Batch,
    CollectedTest,
    Isolation,
    Setting,
    SharedPrefix,
    SingleRun,
    Suite,
    Walk,
    single_run,
)

COMMON = {"why": "is it flaky?", "setting": Setting.PROBE}
BATCH = Batch(orders=((A,), (B, A)), seed=7, **COMMON)
SHARED_PREFIX = SharedPrefix(prefix=(A, B), continuations=((C,), (C, D)), seed=7, **COMMON)
WALK = Walk(order=(A, B, C), test=D, stops=(1, 3), seed=7, **COMMON)


def a_plan(**changes):
    return SingleRun(**({"order": (A, B)} | COMMON | changes))


def test_two_plans_with_different_seeds_ask_the_same_question():
    assert a_plan(seed=1).key == a_plan(seed=2, why="again").key


@pytest.mark.parametrize(
    "changes",
    [{"order": (B, A)}, {"isolation": Isolation.SPAWN}, {"undisturbed": True}],
)
def test_another_order_or_isolation_or_concurrent_runs_make_another_question(changes):
    assert a_plan(**changes).key != a_plan().key


def test_plans_of_another_shape_ask_another_question():
    same_tests = [
        a_plan(),
        Batch(orders=((A, B),), **COMMON),
        SharedPrefix(prefix=(A,), continuations=((B,),), **COMMON),
        Walk(order=(A,), test=B, stops=(1,), **COMMON),
    ]

    assert len({plan.key for plan in same_tests}) == 4
    assert {plan.orders for plan in same_tests} == {((A, B),)}


def test_each_process_of_a_batch_starts_without_earlier_tests_and_has_its_own_seed():
    assert BATCH.orders == ((A,), (B, A))
    assert [(copy.after, copy.tests, copy.seed) for copy in BATCH.copies] == [(0, (A,), 7), (0, (B, A), 8)]


def test_the_continuations_of_a_prefix_run_after_all_of_it_with_one_seed():
    assert SHARED_PREFIX.orders == ((A, B, C), (A, B, C, D))
    assert [(copy.after, copy.tests, copy.seed) for copy in SHARED_PREFIX.copies] == [
        (2, (C,), 7),
        (2, (C, D), 7),
    ]


def test_the_stops_of_a_walk_run_its_test_after_a_part_of_the_order():
    assert WALK.orders == ((A, D), (A, B, C, D))
    assert [(copy.after, copy.tests) for copy in WALK.copies] == [(1, (D,)), (3, (D,))]


@pytest.mark.parametrize("plan", [BATCH, SHARED_PREFIX, WALK])
def test_a_single_run_of_a_plan_has_its_settings(plan):
    plan = replace(plan, isolation=Isolation.SPAWN, undisturbed=True)

    assert single_run(plan, (C,)) == a_plan(order=(C,), isolation=Isolation.SPAWN, undisturbed=True, seed=7)


def test_a_plan_cannot_be_changed():
    with pytest.raises(AttributeError):
        a_plan().order = ()


def test_a_plan_can_be_copied_with_a_change():
    assert replace(a_plan(), seed=3).seed == 3


def test_the_order_of_a_suite_is_pytests():
    assert a_suite(C, A, B).order == (C, A, B)


def test_groups_and_their_members_keep_the_original_order():
    places = [("b.py", "x"), ("a.py", "y"), ("b.py", "z")]
    tests = tuple(CollectedTest(id=NodeId(f"{m}::{n}"), module=m, parent=m) for m, n in places)

    groups = Suite(tests=tests).groups("module")

    assert groups == {"b.py": ["b.py::x", "b.py::z"], "a.py": ["a.py::y"]}
    assert list(groups) == ["b.py", "a.py"]


def test_classes_of_one_file_are_groups_of_their_own():
    tests = tuple(
        CollectedTest(id=NodeId(f"a.py::{name}::t"), module="a.py", parent=f"a.py::{name}")
        for name in ("One", "Two")
    )

    groups = Suite(tests=tests).groups("parent")

    assert list(groups) == ["a.py::One", "a.py::Two"]
