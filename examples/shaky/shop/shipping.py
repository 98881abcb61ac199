"""Shipping costs and parcels."""

from __future__ import annotations

import os


def shipping_cents(grams: int) -> int:
    """Return the cost of shipping: free at home, by weight if SHOP_REGION is "abroad"."""
    is_abroad = os.environ.get("SHOP_REGION") == "abroad"
    return grams // 2 if is_abroad else 0


def parcels_needed(items: int, items_per_parcel: int) -> int:
    """Return the number of parcels for the items (wrong: the last, half-full one is forgotten)."""
    return items // items_per_parcel
