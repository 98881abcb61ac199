"""True flakes whose test calls a function that was changed without harm."""

from __future__ import annotations

from .project import Project
from .situation import Situations

TOUCHING = Situations("flakes-touching")

SHOP = """
    import os
    import random
    import secrets
    import uuid


    LIMIT = 3


    def noise(share):
        \"\"\"True in this share of calls.\"\"\"
        number = secrets.randbelow(1000)
        return number < share * 1000


    def seeded(share):
        return random.random() < share


    def identifier():
        return uuid.uuid4().hex


    def first(words):
        return next(iter(set(words)))


    def total(prices):
        # the sum
        result = sum(prices)
        return result
"""
add = TOUCHING.add


def touching(project: Project, condition: str, old: str, new: str) -> None:
    """A test that asserts this, and a change of the shop that it runs through."""
    other = "from shop import stock\n\n\ndef test_total():\n    assert stock.total([1, 2]) == 3\n"
    test = f"{other.replace('test_total', 'test_flake')}    assert {condition}\n"
    project.write_all({"shop/stock.py": SHOP, "tests/test_flake.py": test, "tests/test_other.py": other})
    project.commit("the base")
    project.branch()
    project.replace("shop/stock.py", old, new)
    project.commit("a harmless change")


@add("test_flake", sometimes=True)
def a_refactored_sum_and_a_failure_in_10_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.1)", "sum(prices)", "sum(list(prices))")


@add("test_flake", sometimes=True)
def a_refactored_sum_and_a_failure_in_20_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.2)", "sum(prices)", "sum([*prices])")


@add("test_flake", sometimes=True, quick=True)
def a_refactored_sum_and_a_failure_in_30_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.3)", "sum(prices)", "sum(tuple(prices))")


@add("test_flake", sometimes=True)
def a_refactored_sum_and_a_failure_in_50_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.5)", "sum(prices)", "sum(price for price in prices)")


@add("test_flake", sometimes=True)
def a_docstring_and_a_failure_in_40_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.4)", "True in this share", "Whether, in this share")


@add("test_flake", sometimes=True)
def a_renamed_local_and_a_failure_in_40_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.4)", "number", "drawn")


@add("test_flake", sometimes=True)
def a_renamed_local_and_a_failure_in_60_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.6)", "result", "found")


@add("test_flake", sometimes=True)
def a_comment_and_a_failure_in_30_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.3)", "# the sum", "# the sum of all")


@add("test_flake", sometimes=True)
def a_new_constant_and_a_failure_in_40_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.4)", "LIMIT = 3", "LIMIT = 3\nMORE = 4")


@add("test_flake", sometimes=True)
def a_new_import_and_a_failure_in_50_percent(project: Project) -> None:
    touching(project, "not stock.noise(0.5)", "import uuid", "import string\nimport uuid")


@add("test_flake", sometimes=True)
def the_seeded_generator_and_a_refactoring(project: Project) -> None:
    touching(project, "not stock.seeded(0.4)", "return random.random() < share", "return share > random.random()")


@add("test_flake", sometimes=True)
def the_seeded_generator_and_another_function(project: Project) -> None:
    touching(project, "not stock.seeded(0.3)", "result = sum(prices)", "result = sum(prices, 0)")


@add("test_flake", sometimes=True)
def an_identifier_in_the_message(project: Project) -> None:
    touching(project, "stock.identifier() > '5'", "uuid.uuid4().hex", "str(uuid.uuid4().hex)")


@add("test_flake", sometimes=True)
def the_order_of_a_set_and_a_refactoring(project: Project) -> None:
    touching(project, "stock.first(['a', 'b', 'c']) != 'a'", "next(iter(set(words)))", "list(set(words))[0]")


@add("test_flake", sometimes=True)
def a_number_in_the_message(project: Project) -> None:
    touching(project, "stock.secrets.randbelow(100) < 55", "sum(prices)", "sum([*prices])")


@add("test_flake", sometimes=True)
def a_new_function_and_a_failure_in_30_percent(project: Project) -> None:
    new = "def second(words):\n    return sorted(words)[1]\n\n\ndef total(prices):"
    touching(project, "not stock.noise(0.3)", "def total(prices):", new)
