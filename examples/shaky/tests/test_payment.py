"""Tests of shop.payment: one that does not wait long enough."""

from __future__ import annotations

import asyncio

from shop import payment


def test_bank_answers_in_time():
    """Nod (async wait): gives up after 10 ms, while the bank sometimes takes longer."""
    answer = asyncio.run(asyncio.wait_for(payment.answer_of_the_bank(500), timeout=0.01))
    assert answer == "paid"


def test_nothing_to_pay_is_refused():
    """Steady."""
    assert payment.answer_to(0) == "refused"
