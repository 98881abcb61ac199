"""How much time a hunt may take."""

from __future__ import annotations

import re
import time

from flakehound.core.errors import Remedy, UsageError

# Limits of a hunt without `--budget`: seconds, and multiples of the time of one run of the suite.
DEFAULT_LIMIT_S = 600.0
DEFAULT_SUITE_TIMES = 30.0
# Share of the default time that is not used, and its limit in seconds: the suite may take less time than when it
# was measured, and a hunt must not take more than 30 suite times. A long run is measured more exactly, relative to
# its length.
_UNUSED_SHARE = 0.06
_MAX_UNUSED_S = 5.0
# Our own start and end outside the measured time, in seconds, and the largest share of a small budget that is
# subtracted for them.
_OVERHEAD_S = 2.2
_MAX_OVERHEAD_SHARE = 0.2
_UNITS = {"": 1.0, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}


class Budget:
    """Wall-clock time, counted from the start of the hunt."""

    def __init__(self, limit_s: float | None = None) -> None:
        self._started_s = time.monotonic()
        self._limit_s = limit_s
        self._is_default = False
        self._reserved_s = 0.0

    @property
    def limit_s(self) -> float | None:
        """The whole time; None until the time of the suite is known."""
        return self._limit_s

    def set_default(self, suite_s: float) -> None:
        """Set the limit if the user gave none: 10 minutes or 30 suite times, whichever is shorter.

        May be called again when the time of the suite is known better.
        """
        if self._limit_s is None or self._is_default:
            self._is_default = True
            self._limit_s = _default_limit_s(suite_s)

    def lower_default(self, suite_s: float) -> None:
        """Lower the default limit if a plain run took less time than the reference run, which is observed."""
        if self._is_default and self._limit_s is not None:
            self._limit_s = min(self._limit_s, _default_limit_s(suite_s))

    def reserve(self, seconds: float) -> None:
        """Reserve a part of the time for the steps after the loop."""
        self._reserved_s = seconds

    def release_reserve(self) -> None:
        """Make the reserved time available."""
        self._reserved_s = 0.0

    def without_limit(self) -> Budget:
        """A budget without limit that started at the same time."""
        endless = Budget(limit_s=float("inf"))
        endless._started_s = self._started_s
        return endless

    @property
    def spent_s(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._started_s

    @property
    def left_s(self) -> float:
        """Time that remains, without the reserve; never negative."""
        limit_s = DEFAULT_LIMIT_S if self._limit_s is None else self._limit_s
        return max(0.0, limit_s - self._reserved_s - self.spent_s)


def _default_limit_s(suite_s: float) -> float:
    allowed_s = min(DEFAULT_LIMIT_S, DEFAULT_SUITE_TIMES * suite_s)
    unused_s = min(_MAX_UNUSED_S, _UNUSED_SHARE * allowed_s)
    return allowed_s - unused_s - min(_OVERHEAD_S, _MAX_OVERHEAD_SHARE * allowed_s)


def seconds_in(text: str, remedy: Remedy = "flakehound hunt --budget 10m") -> float:
    """Parse a duration such as `90`, `90s`, `10m` or `1h30m`; the error suggests `remedy`."""
    parts = re.findall(r"(\d+(?:\.\d+)?)([smhd]?)", text.strip().lower())
    if not parts or "".join(number + unit for number, unit in parts) != text.strip().lower():
        raise UsageError(f"{text!r} is not a time", remedy=remedy)
    total = sum(float(number) * _UNITS[unit] for number, unit in parts)
    if total <= 0:
        raise UsageError(f"{text!r} leaves no time at all", remedy=remedy)
    return total
