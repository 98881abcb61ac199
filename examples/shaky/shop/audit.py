"""Keeps a log of the money that is paid back."""

from __future__ import annotations

import logging

logger = logging.getLogger("shop.audit")


def note_refund(cents: int) -> None:
    """Log one refund as a warning."""
    logger.warning("refund of %s", amount_text(cents))


def import_refunds(amounts: list[int]) -> int:
    """Log every refund of an old ledger and return how many there were."""
    for cents in amounts:
        note_refund(cents)
    return len(amounts)


def amount_text(cents: int) -> str:
    """Return the amount with two decimals, such as "12.05"."""
    return f"{cents // 100}.{cents % 100:02d}"
