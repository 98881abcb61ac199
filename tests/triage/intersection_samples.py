"""Entities and records for the tests of intersections."""

from __future__ import annotations

from triage_samples import entity

CART = "/repo/shop/cart.py"


BODY = entity(body_lines=(range(10, 14),), import_lines=range(1, 3))


IMPORTS_CART = {"shop.cart": CART}


def only(intersection):
    (touch,) = intersection.touches
    return str(touch)
