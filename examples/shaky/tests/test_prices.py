"""Tests of shop.prices: a victim of module state (polluter and cleaner are in test_sale.py)."""

from __future__ import annotations

import pytest
from shop import prices


def test_tea_has_its_list_price():
    """Victim (module state): fails while a sale is on."""
    assert prices.price_of("tea") == 300


def test_unknown_item_has_no_price():
    """Steady."""
    with pytest.raises(KeyError):
        prices.price_of("unicorn")
