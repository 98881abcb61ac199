"""Who is logged in."""

from __future__ import annotations

current: dict[str, str] = {}


def log_in(customer: str) -> None:
    """Remember the customer for the life of the process."""
    current["customer"] = customer


def greeting() -> str:
    """Return a greeting for the customer who is logged in; KeyError if nobody is."""
    return f"hello, {current['customer']}"


def initials(full_name: str) -> str:
    """Return the first letter of each name."""
    return "".join(name[0] for name in full_name.split())
