"""Opening hours and receipt times."""

from __future__ import annotations

from datetime import datetime, timedelta

SUNDAY = 6


def is_open(moment: datetime) -> bool:
    """Return whether the shop is open: nine to six, never on a Sunday."""
    return moment.weekday() != SUNDAY and 9 <= moment.hour < 18


def receipt_time(moment: datetime) -> datetime:
    """Return the moment rounded (up or down) to the nearest millisecond."""
    milliseconds = round(moment.microsecond / 1000)
    return moment.replace(microsecond=0) + timedelta(milliseconds=milliseconds)
