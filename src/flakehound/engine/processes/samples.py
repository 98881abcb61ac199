"""Join what a test's process counted itself with what was seen of it from outside."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.core.measurements import MEASURED, Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """The most that a look from outside saw while one test ran; 0 where none fell into it."""

    threads: int = 0
    children: int = 0


@dataclass(slots=True)
class Samples:
    """Looks at one process, each with its moment, on the clock that the process itself uses."""

    began: dict[int, float] = field(default_factory=dict)  # place of a test -> when it started
    looks: list[tuple[float, int, int]] = field(default_factory=list)  # moment, threads, children; ascending

    def begin(self, place: int, clock: float) -> None:
        """The test at this place starts."""
        self.began[place] = clock

    def add(self, clock: float, threads: int, children: int) -> None:
        """One more look."""
        self.looks.append((clock, threads, children))

    def peaks(self, place: int, seconds: float) -> Peaks:
        """The most that was seen while a test ran that took so long."""
        begin = self.began.get(place, 0.0)
        first = bisect_left(self.looks, (begin, 0, 0))
        during = self.looks[first : bisect_left(self.looks, (begin + seconds, 0, 0))]
        return Peaks(
            threads=max((threads for _clock, threads, _children in during), default=0),
            children=max((children for _clock, _threads, children in during), default=0),
        )


def measures_from(told: Mapping[str, Any], peaks: Peaks) -> Measures:
    """The measures of one test."""
    found = {name: told.get(name) for name in MEASURED}
    for name, seen in (("max_threads", peaks.threads), ("max_children", peaks.children)):
        own = found[name]
        found[name] = None if own is None else max(own, seen)
    return Measures(**found)
