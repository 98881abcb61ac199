"""Orders and their confirmation."""

from __future__ import annotations

from shop import mailer


def confirm(address: str, items: list[str]) -> None:
    """Mail the customer what was ordered."""
    mailer.deliver(address, f"you ordered {', '.join(items)}")


def heaviest_item(grams_each: dict[str, int]) -> str:
    """Return the name of the heaviest item of an order."""
    return max(grams_each, key=lambda item: grams_each[item])
