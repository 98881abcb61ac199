"""Starts and ends a sale on everything."""

from __future__ import annotations

from shop import prices


def start(percent: int) -> None:
    """Take this many percent off every price, until the sale is ended."""
    prices.discount_percent = percent


def end() -> None:
    """Go back to the list prices."""
    prices.discount_percent = 0
