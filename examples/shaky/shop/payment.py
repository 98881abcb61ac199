"""Payments by card: asks a fictional bank that is sometimes slow to answer."""

from __future__ import annotations

import asyncio
import random

BANK_SECONDS = (0, 0, 0, 0.04, 0.04)
network = random.SystemRandom()


async def answer_of_the_bank(cents: int) -> str:
    """Return "paid" or "refused": at once, or two times out of five after 40 ms."""
    await asyncio.sleep(network.choice(BANK_SECONDS))
    return answer_to(cents)


def answer_to(cents: int) -> str:
    """Return "paid" for a positive amount, else "refused"."""
    return "paid" if cents > 0 else "refused"
