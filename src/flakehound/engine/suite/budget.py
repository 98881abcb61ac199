"""How much time a hunt may take."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

from flakehound.core.errors import Remedy, UsageError

DEFAULT_LIMIT_S = 600.0
DEFAULT_SUITE_TIMES = 30.0
_HEADROOM = 0.06  # the suite may be quicker than it was when we measured
_MOST_HEADROOM_S = 5.0  # a long run is not measured so badly
_OWN_S = 2.2  # our own start and end, which a quick suite would feel
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(slots=True)
class Budget:
    """Wall-clock time, counted from the start of the hunt."""

    limit_s: float | None = None  # None: not decided before the suite's own time is known
    started: float = field(default_factory=time.monotonic)
    by_default: bool = False  # the user named no time
    reserved_s: float = 0.0  # kept for what comes after the loop

    def settle(self, suite_s: float) -> None:
        """Without a wish of the user: 10 minutes or 30 suite times, whichever is shorter."""
        if self.limit_s is None:
            self.by_default = True
            self.limit_s = _default_for(suite_s)

    def shorten(self, suite_s: float) -> None:
        """A plain run proved quicker than the watched one that the default was taken from."""
        if self.by_default and self.limit_s is not None:
            self.limit_s = min(self.limit_s, _default_for(suite_s))

    @property
    def spent_s(self) -> float:
        """Time since the start."""
        return time.monotonic() - self.started

    @property
    def left_s(self) -> float:
        """Time that remains; never negative."""
        limit = DEFAULT_LIMIT_S if self.limit_s is None else self.limit_s
        return max(0.0, limit - self.reserved_s - self.spent_s)


def _default_for(suite_s: float) -> float:
    allowed = min(DEFAULT_LIMIT_S, DEFAULT_SUITE_TIMES * suite_s)
    return allowed - min(_MOST_HEADROOM_S, _HEADROOM * allowed) - min(_OWN_S, 0.2 * allowed)


def seconds(text: str, remedy: Remedy = "flakehound hunt --budget 10m") -> float:
    """`90`, `90s`, `10m`, `1h30m` as seconds; `remedy` is what the error suggests."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise UsageError(f"{text!r} is not a time", remedy=remedy)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if total <= 0:
        raise UsageError(f"{text!r} leaves no time at all", remedy=remedy)
    return total
