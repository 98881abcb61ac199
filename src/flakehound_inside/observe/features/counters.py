"""Counters of the kernel for this process, read by functions that no test can mock."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os, resource

if TYPE_CHECKING:
    from typing import NamedTuple
else:
    from collections import namedtuple

_KILO = 1024
_NANO = 1e-9

if TYPE_CHECKING:

    class CounterReading(NamedTuple):
        """Counters at one moment: of the process, its threads, and the children that it has waited for."""

        clock: float
        reads: int  # system calls: read and the like
        writes: int
        switches: int  # voluntary
        cpu_s: float
        queued_s: float  # this thread was ready to run and waited for a core

else:
    CounterReading = namedtuple("CounterReading", "clock reads writes switches cpu_s queued_s")


class ProcFile:
    """A file of /proc that stays open; opened again if a test closed or reused its descriptor."""

    def __init__(self, path: str, flags: int = os.O_RDONLY) -> None:
        self._path = path
        self._flags = flags | getattr(os, "O_CLOEXEC", 0)
        self._fd = -1
        self._identity: tuple[int, int] | None = None

    def read(self) -> bytes:
        """Its current content; empty if the system has no such file."""
        try:
            self._open()
            return isolated_os.pread(self._fd, 8192, 0)
        except OSError:
            return b""

    def write(self, command: bytes) -> bool:
        """Write a command to the kernel; False if it was refused."""
        try:
            self._open()
            return isolated_os.write(self._fd, command) == len(command)
        except OSError:
            return False

    def _open(self) -> None:
        if self._fd < 0 or not self._is_ours():
            self._fd = isolated_os.open(self._path, self._flags)
            status = isolated_os.fstat(self._fd)
            self._identity = (status.st_dev, status.st_ino)

    def _is_ours(self) -> bool:
        try:
            status = isolated_os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


class ProcessCounters:
    """Opens its files at the first reading, because a forked process needs its own."""

    def __init__(self) -> None:
        self._io = ProcFile("/proc/self/io")
        self._schedule = ProcFile("/proc/thread-self/schedstat")
        self._status = ProcFile("/proc/self/status")
        self._reset = ProcFile("/proc/self/clear_refs", os.O_WRONLY)
        self._earlier_peak = -1  # kilobytes, if the kernel cannot reset the peak

    def read(self) -> CounterReading:
        """The values of all counters now; 0 for those that the system does not have."""
        reads = writes = 0
        for line in self._io.read().split(b"\n"):
            if line[:6] == b"syscr:":
                reads = int(line[6:])
            elif line[:6] == b"syscw:":
                writes = int(line[6:])
        schedule = self._schedule.read().split()
        switches, cpu_s = 0, 0.0
        if resource is not None:
            for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
                usage = isolated_os.usage(who)
                switches += usage.ru_nvcsw
                cpu_s += usage.ru_utime + usage.ru_stime
        queued_s = int(schedule[1]) * _NANO if len(schedule) > 1 else 0.0
        return CounterReading(isolated_os.clock(), reads, writes, switches, cpu_s, queued_s)

    @property
    def counts_io(self) -> bool:
        """Whether this system counts reads and writes."""
        return bool(self._io.read())

    def reset_peak(self) -> None:
        """Start to measure the peak of memory."""
        if not self._reset.write(b"5"):
            self._earlier_peak = self._peak_kilobytes()[0]

    def peak_bytes(self) -> int:
        """The largest resident memory since the last reset; 0 if the system does not report it."""
        peak, current = self._peak_kilobytes()
        # An unchanged peak is from before the reset that the kernel refused.
        return (current if peak == self._earlier_peak else peak) * _KILO

    def _peak_kilobytes(self) -> tuple[int, int]:
        kilobytes = {}
        for line in self._status.read().split(b"\n"):
            name, _colon, rest = line.partition(b":")
            if name in (b"VmHWM", b"VmRSS"):
                kilobytes[name] = int(rest.split()[0])
        return kilobytes.get(b"VmHWM", 0), kilobytes.get(b"VmRSS", 0)
