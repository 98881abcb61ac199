"""How many runs go on in parallel: as many as the user says, else one per core, or more if the tests mostly wait.

A test that sleeps, or waits for another process, leaves its core to others. Runs that bind the same port or socket
would disturb each other: they are made one at a time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from flakehound.core.outcomes import Outcome
from flakehound.core.records import RunRecord

MAX_RUNS_PER_CORE = 4
MAX_WAITING_RUNS = 16  # more only if there are as many cores
MAX_CORE_SHARE = 0.75  # of the cores that all runs together may use
MAX_MEMORY_SHARE = 0.5  # of the available memory that they may use
MEMORY_INFO = Path("/proc/meminfo")
CGROUP_FOLDER = Path("/sys/fs/cgroup")
UNLIMITED_CORES = 1_000_000


def usable_cores(cgroup: Path = CGROUP_FOLDER) -> int:
    """The number of cores that this process may use, limited by the quota of its container."""
    cores = len(os.sched_getaffinity(0))
    for files in (["cpu.max"], ["cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"]):
        cores = min(cores, _quota([cgroup / name for name in files]))
    return cores


def _quota(files: Sequence[Path]) -> int:
    """The number of cores that a control group may use by these files; UNLIMITED_CORES without a quota."""
    try:
        quota, period = " ".join(file.read_text() for file in files).split()
        return max(1, ceil(int(quota) / int(period))) if int(quota) > 0 else UNLIMITED_CORES
    except (OSError, ValueError, ZeroDivisionError):
        return UNLIMITED_CORES  # no such file, or "max"


def free_memory_bytes(info: Path = MEMORY_INFO) -> float:
    """Memory that programs can use without swapping; 0 where the system does not report it."""
    try:
        lines = info.read_text().splitlines()
    except OSError:
        return 0.0
    kilobytes = (line.split()[1] for line in lines if line.startswith("MemAvailable:"))
    return 1024.0 * int(next(kilobytes, "0"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Parallelism:
    """The default and the largest number of parallel runs."""

    default_jobs: int
    max_jobs: int
    is_set_by_user: bool = False  # by the user

    @classmethod
    def of(cls, jobs: int | None) -> Parallelism:
        """As many as the user says; else one per core by default, and more at most."""
        if jobs is not None:
            return cls(default_jobs=jobs, max_jobs=jobs, is_set_by_user=True)
        cores = usable_cores()
        return cls(default_jobs=cores, max_jobs=max(cores, min(MAX_RUNS_PER_CORE * cores, MAX_WAITING_RUNS)))

    def for_suite(
        self,
        runs: Sequence[RunRecord],
        addresses: Sequence[str] = (),
        free_bytes: Callable[[], float] = free_memory_bytes,
    ) -> int:
        """The number of parallel runs of a suite, given whole runs of it and the addresses that they bind."""
        if addresses and not self.is_set_by_user:
            return 1
        wall_s = sum(run.usage.wall_s - _hung_s(run) for run in runs)
        needed_s = sum(run.usage.cpu_s + run.usage.queued_s for run in runs)
        if self.max_jobs == self.default_jobs or wall_s <= 0 or needed_s <= 0:
            return self.default_jobs
        run_bytes = max(run.usage.max_rss_bytes for run in runs) or 1
        affordable_jobs = min(
            MAX_CORE_SHARE * self.default_jobs * wall_s / needed_s, MAX_MEMORY_SHARE * free_bytes() / run_bytes
        )
        return max(self.default_jobs, min(int(affordable_jobs), self.max_jobs))


def fixed_addresses(notes: Path) -> list[str]:
    """Ports and sockets that every run binds, as noted by flakehound_inside.observe.addresses in one run."""
    return notes.read_text(errors="replace").splitlines() if notes.exists() else []


def _hung_s(run: RunRecord) -> float:
    """The time of tests that were ended at their limit, which must not count as waiting."""
    durations = zip(run.outcomes, run.durations_s, strict=True)
    return sum(seconds for outcome, seconds in durations if outcome is Outcome.TIMED_OUT)
