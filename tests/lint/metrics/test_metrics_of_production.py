"""Metrics of production code compared with values counted by hand."""

from __future__ import annotations

from math import log2

import pytest
from metric_samples import metrics_in, metrics_of_class, metrics_of_module, project_of

CART = '''
import math
from decimal import Decimal


class Cart:
    """What a customer buys."""

    currency = "EUR"

    def __init__(self, owner):
        self.owner = owner
        self._items = []

    def add(self, price, count=1):
        if price < 0 or count < 1:
            raise ValueError(price)
        self._items.append((Decimal(price), count))

    def total(self):
        return sum(price * count for price, count in self._items)

    def rounded(self):
        return math.ceil(self.total())
'''
READER = """
import os
import json


class Reader:
    def __init__(self, path):
        self._path = path

    def read(self):
        with open(self._path) as stream:
            return json.load(stream)


class Settings(dict):
    pass
"""
TILL = """
from shop import cart
from shop.prices import PRICES

limit = 3
_log = []


def price(name):
    return PRICES[name] if name in PRICES else 0


def add(name, count):
    global limit
    while count > limit:
        _log.append(name)
        count -= limit
    return cart.Cart(name, count)


class Till:
    def open(self):
        try:
            return price("key")
        except KeyError:
            return None
"""
COUNTED_BY_HAND = {
    "cart": (
        metrics_of_class(CART),
        {
            "cbo": 2,  # math, Decimal
            "halstead_length": 12,  # <, <, or, * and their operands
            "halstead_vocabulary": 11,
            "halstead_volume": 12 * log2(11),
            "loc": 14,
            "lcom2": 1 - 4 / 12,  # 4 accesses by 4 methods to 3 attributes
            "lcom5": (4 - 4 / 3) / 3,
            "mpc": 5,  # ValueError, append, Decimal, sum, ceil; not self.total
            "rfc": 9,  # the 4 methods and those 5
            "wmc": 7,  # 1 + 3 + 2 + 1
            "functional_decomposition": False,
        },
    ),
    "reader": (
        metrics_of_class(READER),
        {
            "cbo": 1,  # json; os is not used
            "halstead_length": 0,
            "halstead_vocabulary": 0,
            "halstead_volume": 0,
            "loc": 6,
            "lcom2": 0,
            "lcom5": 0,
            "mpc": 2,
            "rfc": 4,
            "wmc": 2,
            "functional_decomposition": True,
        },
    ),
    "till, a module": (
        metrics_of_module(TILL),
        {
            "cbo": 2,  # cart, PRICES
            "halstead_length": 9,  # in, >, -= and their operands
            "halstead_vocabulary": 7,
            "halstead_volume": 9 * log2(7),
            "loc": 18,
            "lcom2": 1 - 2 / 6,  # 2 accesses by 3 functions to 2 globals
            "lcom5": 1,
            "mpc": 3,
            "rfc": 5,
            "wmc": 6,
            "functional_decomposition": False,
        },
    ),
}


@pytest.mark.parametrize(
    ("metrics", "name", "expected"),
    [
        pytest.param(metrics, name, expected, id=f"{name} of {program}")
        for program, (metrics, expected_values) in COUNTED_BY_HAND.items()
        for name, expected in expected_values.items()
    ],
)
def test_a_metric_has_the_value_counted_by_hand(metrics, name, expected):
    assert getattr(metrics, name) == pytest.approx(expected)


def with_attributes(*names: str) -> str:
    return "class A:\n" + "".join(f"    {name} = 1\n" for name in names)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (with_attributes(*(f"a{i}" for i in range(11))), True),
        (with_attributes(*(f"a{i}" for i in range(10))), False),
        (with_attributes(*(f"a{i}" for i in range(10)), "_hidden", "__slots__"), False),
        ("class A:\n    def f(self):\n" + "".join(f"        self.a{i} = 1\n" for i in range(11)), True),
    ],
)
def test_more_than_ten_public_attributes_should_be_private(source, expected):
    assert metrics_of_class(source).class_data_should_be_private is expected


def with_branches(*numbers: int) -> str:
    methods = (f"    def f{i}(self):\n" + "        if a: b()\n" * number for i, number in enumerate(numbers))
    return "class A:\n" + "".join(methods)


@pytest.mark.parametrize(
    ("branches", "wmc", "expected"), [((199,), 200, False), ((200,), 201, True), ((99, 101), 202, True)]
)
def test_a_class_is_complex_above_200(branches, wmc, expected):
    metrics = metrics_of_class(with_branches(*branches))

    assert (metrics.wmc, metrics.complex_class) == (wmc, expected)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("class A:\n    def run(self): pass", True),
        ("class A(object):\n    def run(self):\n        self._x = 1", True),
        ("class A(B):\n    def run(self): pass", False),
        ("class A:\n    def run(self):\n        self.x = 1", False),
        ("class A:\n    x = 1", False),
        ("class A:\n    def a(self): pass\n    def b(self): pass\n    def c(self): pass", False),
    ],
)
def test_a_class_that_is_rather_a_function_is_functional_decomposition(source, expected):
    assert metrics_of_class(source).functional_decomposition is expected


def long_class(name: str, methods: int, lines: int) -> str:
    """A class with this number of methods and lines."""
    each, rest = divmod(lines - 1 - methods, methods)
    bodies = [each + (i < rest) for i in range(methods)]
    return f"class {name}:\n" + "".join(
        f"    def f{i}(self):\n" + "        g()\n" * n for i, n in enumerate(bodies)
    )


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (long_class("OrderManager", 21, 501), True),
        (long_class("OrderManager", 21, 500), False),
        (long_class("OrderManager", 20, 501), False),
        (long_class("Order", 21, 501), False),
    ],
)
def test_a_long_controller_with_many_features_is_a_god_class(source, expected):
    assert metrics_of_class(source).god_class is expected


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (long_class("A", 5, 601), True),
        (long_class("A", 5, 600), False),
        (long_class("A", 6, 601), False),  # methods of 100 lines
        (long_class("A", 5, 601).replace("(self)", "(self, x)"), False),
    ],
)
def test_a_long_class_with_a_long_method_without_parameters_is_spaghetti(source, expected):
    assert metrics_of_class(source).spaghetti_code is expected


def test_methods_of_base_classes_in_the_project_count_for_rfc():
    project = project_of(
        base="class Base:\n    def save(self): pass\n    def load(self): pass\n",
        cart="from base import Base\nclass Cart(Base):\n    def load(self): pass\n    def total(self): pass\n",
        test_cart="from cart import Cart\nclass TestCart:\n    def test_total(self): assert Cart().total()\n",
    )

    assert metrics_in(project, "test_total").rfc == 3


def test_a_class_of_the_same_file_counts_for_cbo_and_the_class_itself_does_not():
    metrics = metrics_of_class(
        "class A:\n    def copy(self, b: 'B'):\n        return A(B(1))\nclass B:\n    pass\n"
    )

    assert metrics.cbo == 1
