"""Findings at places that say little about a test, and at places that a test's call cannot reach."""

from __future__ import annotations

import pytest
from test_lint_rules import findings_in

RANDOM = "unseeded-randomness"
TEST = "from shop import buy\n\n\ndef test_buy():\n    assert buy({arguments}) == 1\n"


def found_in(production: str, arguments: str = "") -> list[str]:
    """Why each finding in the production code is weak."""
    found = findings_in(
        rule=RANDOM, shop=f"import random\n\n\n{production}", test_it=TEST.format(arguments=arguments)
    )
    return [finding.weak for finding in found]


GUARDED = [
    "def buy(wait=None):\n    if wait is not None:\n        random.random()\n    return 1\n",
    "def buy(wait=False):\n    if wait:\n        random.random()\n    return 1\n",
    "def buy(wait=None):\n    if wait is None:\n        return 1\n    random.random()\n    return 1\n",
    "def buy(*, wait=0):\n    if wait == 0:\n        pass\n    else:\n        random.random()\n    return 1\n",
    "def buy(wait=None, hurry=False):\n    if wait and not hurry:\n        random.random()\n    return 1\n",
]


@pytest.mark.parametrize("production", GUARDED)
def test_a_condition_on_a_parameter_that_the_call_leaves_out_is_understood(production):
    assert found_in(production) == []


@pytest.mark.parametrize("production", GUARDED)
def test_a_call_that_sets_the_parameter_may_run_the_code(production):
    assert found_in(production, "wait=2") == ["under a condition"]
    assert found_in(production, "**options()") == ["under a condition"]


def test_a_parameter_that_is_replaced_is_not_its_default():
    production = "def buy(wait=None):\n    wait = wait or 3\n    if wait:\n        random.random()\n    return 1\n"

    assert found_in(production) == ["under a condition"]


def test_an_operation_that_every_call_makes_is_strong():
    assert found_in(
        "def buy():\n    if not open:\n        raise ValueError\n    random.random()\n    return 1\n"
    ) == [""]


def test_a_constructor_says_little():
    production = "class buy:\n    def __init__(self):\n        random.random()\n"

    assert found_in(production) == ["in a constructor"]


def test_the_end_of_a_chain_of_calls_says_little():
    assert found_in("def buy():\n    return _wait()\n\n\ndef _wait():\n    random.random()\n    return 1\n") == [
        "several calls away from the test"
    ]


def test_a_condition_in_the_test_itself_is_no_reason():
    text = "import random\n\n\ndef test_it(slow):\n    if slow:\n        random.random()\n    assert slow\n"

    assert [finding.weak for finding in findings_in(rule=RANDOM, test_it=text)] == [""]
