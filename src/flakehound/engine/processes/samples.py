"""Combine what a test's process measured with the samples that its parent process took."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from flakehound.core.measurements import MEASURED_FEATURES, Measures


@dataclass(frozen=True, slots=True, kw_only=True)
class Peaks:
    """The largest sampled numbers while one test ran; 0 without a sample."""

    threads: int = 0
    children: int = 0


@dataclass(slots=True)
class Samples:
    """Samples of one process, with times of the clock that the process itself uses."""

    start_times: dict[int, float] = field(default_factory=dict)  # by place of the test
    samples: list[tuple[float, int, int]] = field(default_factory=list)  # time, threads, children; ascending

    def begin(self, place: int, clock: float) -> None:
        """Record when the test at this place of the order started."""
        self.start_times[place] = clock

    def add(self, clock: float, threads: int, children: int) -> None:
        """Add a sample."""
        self.samples.append((clock, threads, children))

    def peaks(self, place: int, seconds: float) -> Peaks:
        """The largest numbers while the test at a place ran, which took this many seconds."""
        begin = self.start_times.get(place, 0.0)
        first = bisect_left(self.samples, (begin, 0, 0))
        samples_of_test = self.samples[first : bisect_left(self.samples, (begin + seconds, 0, 0))]
        return Peaks(
            threads=max((threads for _clock, threads, _children in samples_of_test), default=0),
            children=max((children for _clock, _threads, children in samples_of_test), default=0),
        )


def measures_from(own_values: Mapping[str, Any], peaks: Peaks) -> Measures:
    """The measures of one test."""
    values = {name: own_values.get(name) for name in MEASURED_FEATURES}
    for name, sampled_count in (("max_threads", peaks.threads), ("max_children", peaks.children)):
        own_count = values[name]
        values[name] = None if own_count is None else max(own_count, sampled_count)
    return Measures(**values)
