"""Look at a process from outside, from time to time: what its own counters do not show.

y <clock> <threads> <children>      so many from now on, until the next such line
"""

from __future__ import annotations

import os

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.features.threads_and_children import running_below


class Sampler:
    """Notes how many threads and descendants a process has, whenever that changes."""

    tick_ms = 10

    def __init__(self, pid: int, events: str) -> None:
        self._pid = pid
        self._events = events
        self._last = (0, 0)
        self._threads = 0  # at the look before

    def look(self) -> None:
        """Take one sample; nothing of a process that has ended."""
        try:
            threads = len(isolated_os.listdir("/proc/%d/task" % self._pid))
        except OSError:
            return
        # A thread that was joined may still be on its way out: only what two looks saw counts.
        seen = (min(threads, self._threads), running_below(self._pid))
        self._threads = threads
        if seen != self._last:
            self._last = seen
            self._note("y %.6f %d %d\n" % (isolated_os.clock(), *seen))

    def _note(self, line: str) -> None:
        try:
            file = isolated_os.open(self._events, os.O_WRONLY | os.O_APPEND)
        except OSError:  # a test removed it
            return
        try:
            isolated_os.write(file, line.encode("ascii"))
        finally:
            isolated_os.close(file)
