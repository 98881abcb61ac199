"""Tests of shop.shipping: a victim of the environment, its polluter, and a real bug."""

from __future__ import annotations

import os

from shop import shipping


def test_shipping_at_home_is_free():
    """Victim (environment variable): fails if SHOP_REGION was set and left behind."""
    assert shipping.shipping_cents(1000) == 0


def test_shipping_abroad_goes_by_weight():
    """Polluter (environment variable): sets SHOP_REGION and never unsets it."""
    os.environ["SHOP_REGION"] = "abroad"
    assert shipping.shipping_cents(1000) == 500


def test_last_parcel_may_be_half_full():
    """Failing: a real bug, `parcels_needed` rounds down."""
    assert shipping.parcels_needed(25, items_per_parcel=10) == 3
