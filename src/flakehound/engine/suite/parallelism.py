"""How many runs go at once: as many as the user says, or as cores, or more where the tests only wait.

A test that sleeps, or waits for another process, leaves its core to others. Runs that bind the same port or socket
would be in each other's way: they go one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from flakehound.core.outcomes import Outcome
from flakehound.core.records import RunRecord

TIMES_CORES = 4  # runs at once for one core, at most
MOST_AT_ONCE = 16  # beyond it only where there are as many cores
BUSY = 0.75  # of the cores, that all runs together may keep busy
MEMORY_SHARE = 0.5  # of what is free, that they may take
MEMORY = Path("/proc/meminfo")
LIMITS = Path("/sys/fs/cgroup")
NO_LIMIT = 1_000_000  # cores


def usable_cores(limits: Path = LIMITS) -> int:
    """Cores that this process may use, as a container's share of the machine allows."""
    cores = len(os.sched_getaffinity(0))
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        cores = min(cores, _share([limits / name for name in files]))
    return cores


def _share(files: Sequence[Path]) -> int:
    """Cores' worth of time that a control group has by these files; NO_LIMIT where none is told."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()
        return max(1, ceil(int(quota) / int(period))) if int(quota) > 0 else NO_LIMIT
    except (OSError, ValueError, ZeroDivisionError):
        return NO_LIMIT  # not told so, or "max"


def free_memory_bytes(told: Path = MEMORY) -> float:
    """Memory that programs can have without swapping; 0 where the system does not say."""
    try:
        lines = told.read_text().splitlines()
    except OSError:
        return 0.0
    kilobytes = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return 1024.0 * int(next(kilobytes, "0"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Width:
    """Runs at once: the usual number, and the most there may be."""

    usual: int
    most: int
    is_named: bool = False  # by the user

    @classmethod
    def of(cls, jobs: int | None) -> Width:
        """What the user says; else one run for each core, and more where the tests wait."""
        if jobs is not None:
            return cls(usual=jobs, most=jobs, is_named=True)
        cores = usable_cores()
        return cls(usual=cores, most=max(cores, min(TIMES_CORES * cores, MOST_AT_ONCE)))

    def after(
        self,
        runs: Sequence[RunRecord],
        addresses: Sequence[str] = (),
        free_bytes: Callable[[], float] = free_memory_bytes,
    ) -> int:
        """The number for a suite of which these whole runs are known, which bound these addresses."""
        if addresses and not self.is_named:
            return 1
        wall_s = sum(run.usage.wall_s - _hung_s(run) for run in runs)
        needed_s = sum(run.usage.cpu_s + run.usage.queued_s for run in runs)
        if self.most == self.usual or wall_s <= 0 or needed_s <= 0:
            return self.usual
        each_bytes = max(run.usage.max_rss_bytes for run in runs) or 1
        room = min(BUSY * self.usual * wall_s / needed_s, MEMORY_SHARE * free_bytes() / each_bytes)
        return max(self.usual, min(int(room), self.most))


def fixed_addresses(notes: Path) -> list[str]:
    """Ports and sockets that every run binds, as flakehound_inside.observe.addresses noted them in one run."""
    return notes.read_text(errors="replace").splitlines() if notes.exists() else []


def _hung_s(run: RunRecord) -> float:
    """What tests took that we had to end: a hang is no waiting."""
    timed = zip(run.outcomes, run.durations_s, strict=True)
    return sum(seconds for outcome, seconds in timed if outcome is Outcome.TIMED_OUT)
