"""Tests of shop.orders: the polluter that leaves a monkeypatch behind."""

from __future__ import annotations

import pytest
from shop import mailer, orders


@pytest.fixture(scope="module")
def grams_each() -> dict[str, int]:
    """Return the weights of one order, shared by the whole module."""
    return {"tea": 100, "honey": 500, "coffee": 250}


def test_heaviest_item_is_honey(grams_each):
    """Steady, with a module-scoped fixture."""
    assert orders.heaviest_item(grams_each) == "honey"


def test_order_is_confirmed_by_mail():
    """Polluter (monkeypatch): replaces `mailer.deliver` and never puts it back."""
    addresses = []
    mailer.deliver = lambda address, text: addresses.append(address)
    orders.confirm("ada@example.org", ["tea"])
    assert addresses == ["ada@example.org"]


def test_every_item_has_a_weight(grams_each):
    """Steady, with the same module-scoped fixture."""
    assert all(grams > 0 for grams in grams_each.values())
