"""Tests of shop.sale: a polluter of test_prices.py, and the cleaner that undoes it."""

from __future__ import annotations

from shop import prices, sale


def test_sale_halves_the_price_of_coffee():
    """Polluter (module state): starts a sale and does not end it."""
    sale.start(50)
    assert prices.price_of("coffee") == 225


def test_list_price_is_back_after_the_sale():
    """Cleaner: ends whatever sale is on."""
    sale.end()
    assert prices.price_of("coffee") == 450
