"""The shopping cart: item names and how many of each."""

from __future__ import annotations


class Cart:
    """What a customer is about to buy."""

    def __init__(self) -> None:
        self.quantities: dict[str, int] = {}

    def add(self, item: str, quantity: int = 1) -> None:
        """Put some of an item into the cart."""
        self.quantities[item] = self.quantities.get(item, 0) + quantity

    def remove(self, item: str) -> None:
        """Take all of an item out of the cart; KeyError if there is none."""
        del self.quantities[item]

    def total(self, cents_each: dict[str, int]) -> int:
        """Return the price of the whole cart in cents."""
        return sum(cents_each[item] * quantity for item, quantity in self.quantities.items())


def distinct_items(scanned: list[str]) -> list[str]:
    """Return every scanned item once, in no order that could be relied on."""
    return list(set(scanned))
