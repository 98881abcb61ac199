"""Newsletter subscriptions, kept for the life of the process."""

from __future__ import annotations

subscribers: set[str] = set()


class AlreadySubscribed(Exception):
    """The address is on the list."""


def subscribe(address: str) -> str:
    """Put the address on the list and return a welcome line."""
    if address in subscribers:
        raise AlreadySubscribed(address)
    subscribers.add(address)
    return f"welcome, {address}"


def is_address(text: str) -> bool:
    """Return whether the text looks like a mail address."""
    name, at, domain = text.partition("@")
    return bool(name and at and "." in domain)
