"""Samples a process from its parent, for values that the process's own counters do not show.

y <clock> <threads> <children>      the counts from now on, until the next such line
"""

from __future__ import annotations

import os

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import count_running_descendants


class ProcessSampler:
    """Writes the numbers of threads and descendants of a process into its event log whenever they change."""

    interval_ms = 10

    def __init__(self, pid: int, events: str) -> None:
        self._pid = pid
        self._events = events
        self._last_written = (0, 0)
        self._last_threads = 0  # of the last sample

    def sample(self) -> None:
        """Take one sample; nothing is written about a process that has ended."""
        try:
            threads = len(isolated_os.listdir("/proc/%d/task" % self._pid))
        except OSError:
            return
        # A joined thread may still exist for a moment: only threads of two successive samples count.
        counts = (min(threads, self._last_threads), count_running_descendants(self._pid))
        self._last_threads = threads
        if counts != self._last_written:
            self._last_written = counts
            self._write("y %.6f %d %d\n" % (isolated_os.clock(), *counts))

    def _write(self, line: str) -> None:
        try:
            file = isolated_os.open(self._events, os.O_WRONLY | os.O_APPEND)
        except OSError:  # a test removed it
            return
        try:
            isolated_os.write(file, line.encode("ascii"))
        finally:
            isolated_os.close(file)
