"""Tests of shop.cart: steady ones of several forms, and one that depends on the hash order."""

from __future__ import annotations

import unittest

import pytest
from shop.cart import Cart, distinct_items

CENTS_EACH = {"tea": 300, "honey": 700}


def test_empty_cart_costs_nothing():
    """Steady."""
    assert Cart().total(CENTS_EACH) == 0


@pytest.mark.parametrize(
    ("item", "quantity", "cents"),
    [("tea", 1, 300), ("tea", 3, 900), ("honey", 2, 1400)],
    ids=["one-tea", "three-teas", "two-honeys"],
)
def test_total_multiplies_price_by_quantity(item, quantity, cents):
    """Steady, parametrised."""
    cart = Cart()
    cart.add(item, quantity)
    assert cart.total(CENTS_EACH) == cents


def test_distinct_items_come_in_scanned_order():
    """Nod (unordered collection): takes the order of a set of strings for granted."""
    assert distinct_items(["tea", "honey", "tea"]) == ["tea", "honey"]


class RemovalTest(unittest.TestCase):
    """Steady, a unittest.TestCase with a setUp."""

    def setUp(self):
        self.cart = Cart()
        self.cart.add("tea", 2)

    def test_removed_item_is_gone(self):
        """Steady."""
        self.cart.remove("tea")
        assert self.cart.quantities == {}

    def test_missing_item_cannot_be_removed(self):
        """Steady."""
        with pytest.raises(KeyError):
            self.cart.remove("honey")
