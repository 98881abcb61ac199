"""Durations as people write them."""

from __future__ import annotations

from math import ceil


def duration_text(seconds: float) -> str:
    """A duration in two parts at most: "40 ms", "0.8 s", "12 s", "3m12s", "1h04m"."""
    seconds = max(0.0, seconds)
    if 0 < seconds < 0.0995:
        return f"{max(1, round(seconds * 1000))} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    # Round before splitting, so that 59.6 s becomes 1m00s and never "60 s" or "0m60s".
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02}s"
    minutes = round(seconds / 60)
    return f"{minutes // 60}h{minutes % 60:02}m"


def budget_option(seconds: float) -> str:
    """A duration that is not shorter, as `--budget` takes it: "40s", "12m", "2h10m"."""
    if seconds <= 90:
        return f"{max(10, ceil(seconds / 10) * 10)}s"
    hours, minutes = divmod(ceil(seconds / 60), 60)
    return f"{hours}h{minutes}m" if hours and minutes else f"{hours}h" if hours else f"{minutes}m"
