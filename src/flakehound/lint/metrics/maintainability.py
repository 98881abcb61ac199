"""The maintainability index, as radon and Visual Studio scale it: 0 is worst, 100 is best."""

from __future__ import annotations

import math


def maintainability(*, volume: float, complexity: int, logical_lines: int, comment_percent: float) -> float:
    """The index by Halstead volume, complexity, logical lines, and comment lines per 100 source lines."""
    if volume <= 0 or logical_lines <= 0:
        return 100.0
    raw = (
        171
        - 5.2 * math.log(volume)
        - 0.23 * complexity
        - 16.2 * math.log(logical_lines)
        + 50 * math.sin(math.sqrt(2.46 * math.radians(comment_percent)))
    )
    return min(max(0.0, raw * 100 / 171), 100.0)
