"""Plans and suites."""

from __future__ import annotations

from dataclasses import replace

import pytest
from core_samples import A, B, C, D, a_suite

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Isolation, RunPlan, Setting, Suite, before


def a_plan(**changes):
    usual = {"order": (A, B), "why": "is it flaky?", "setting": Setting.PROBE}
    return RunPlan(**(usual | changes))


def test_two_plans_with_different_seeds_ask_the_same_question():
    assert a_plan(seed=1).key == a_plan(seed=2, why="again").key


@pytest.mark.parametrize(
    "changes",
    [{"order": (B, A)}, {"branches": ((C,),)}, {"isolation": Isolation.SPAWN}, {"undisturbed": True}],
)
def test_another_order_branch_isolation_or_company_is_another_question(changes):
    assert a_plan(**changes).key != a_plan().key


def test_a_plan_executes_its_order_once_and_every_branch():
    assert a_plan(branches=((C,), (C, D))).test_runs == 5


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


def test_what_runs_before_a_test_is_the_order_up_to_it():
    assert before((A, B, C), C) == (A, B)
    assert before((A, B, C), A) == ()


def test_nothing_runs_before_a_test_that_is_not_in_the_order():
    with pytest.raises(ValueError, match="not in list"):
        before((A, B), D)
