"""Class 4 and 6: a second failure behind one that the base has as well, and other things that a status hides."""

from __future__ import annotations

from .project import Project
from .situation import Situations

HIDDEN_FAILURES = Situations("4-hidden-failures")
add = HIDDEN_FAILURES.add
CART = "def total(prices):\n    return sum(prices)\n"
OTHER = "def test_other():\n    assert True\n"


def broken_before(project: Project, test: str) -> None:
    """The test fails at the base; the change breaks what it checks besides."""
    project.write_all({"shop/cart.py": CART, "tests/test_cart.py": test, "tests/test_other.py": OTHER})
    project.commit("main is red")
    project.write("notes.txt", "a note\n")
    project.commit()
    project.branch()
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


@add("test_both", base_runs=False)
def the_teardown_is_broken_of_a_test_that_failed_before(project: Project) -> None:
    broken_before(
        project,
        """
        import pytest
        from shop.cart import total


        @pytest.fixture
        def checked():
            yield
            assert total([1]) == 1


        def test_both(checked):
            assert 1 + 1 == 3
        """,
    )


@add("test_both", base_runs=False)
def a_subtest_is_broken_beside_one_that_failed_before(project: Project) -> None:
    broken_before(
        project,
        """
        import unittest

        from shop.cart import total


        class CartTest(unittest.TestCase):
            def test_both(self):
                with self.subTest("old"):
                    self.assertEqual(1 + 1, 3)
                with self.subTest("new"):
                    self.assertEqual(total([1]), 1)
        """,
    )


@add("test_both", base_runs=False)
def a_list_of_problems_is_one_longer(project: Project) -> None:
    broken_before(
        project,
        """
        from shop.cart import total


        def test_both():
            problems = ["the old one"]
            if total([1]) != 1:
                problems.append("the sum is wrong")
            assert problems == []
        """,
    )


@add("test_doc", base_runs=False)
def the_fix_of_a_bug_is_reverted_and_nothing_is_rerun(project: Project) -> None:
    test = "from shop.cart import total\n\n\ndef test_doc():\n    assert total([1]) == 1\n"
    project.write_all({"shop/cart.py": CART.replace("sum(prices)", "sum(prices) + 1"), "tests/test_a.py": test})
    project.commit("a bug")
    for _ in range(14):
        project.stored("--flakehound-forked=0", "--flakehound-immediate=0", "--flakehound-postponed=0")
    project.replace("shop/cart.py", "sum(prices) + 1", "sum(prices)")
    project.commit("its fix")
    project.branch()
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.commit("the revert")
    project.args = ("--flakehound-forked=0",)
