"""Tests of shop.clock: one that depends on the time of day, to the microsecond."""

from __future__ import annotations

from datetime import datetime

from shop import clock


def test_shop_is_closed_on_sunday():
    """Steady."""
    assert not clock.is_open(datetime(2024, 6, 2, 12))


def test_receipt_time_is_never_ahead_of_the_clock():
    """Nod (time): in the second half of every millisecond the receipt time is rounded up."""
    now = datetime.now()
    assert clock.receipt_time(now) <= now
