"""How many threads and child processes a test has at once, noticed each time it starts one.

The number can only grow when one is started, so its peak is right behind a start: no test is too short for that.
Threads and processes started by native code are not noticed here; the process above looks from time to time.
"""

from __future__ import annotations

import _thread
import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.dependencies import processes_made
from flakehound_inside.worker.supervise import read_file

if TYPE_CHECKING:
    from typing import Any, Callable

_STARTS_A_PROCESS = frozenset(["subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"])
# What `threading` calls to start one: the second since Python 3.13.
_STARTERS = ("_start_new_thread", "_start_joinable_thread")


class Company:
    """The peaks since they were forgotten."""

    def __init__(self) -> None:
        self.threads = 1
        self.children = 0
        self._owner = 0
        self._made = ""
        self._count: Callable[[], int] = _thread._count

    def start(self) -> None:
        """Notice starts from now on; there is no way to stop, so only in a process that ends with its run."""
        self._owner = isolated_os.getpid()
        for name in _STARTERS:
            original = getattr(threading, name, None)
            if original is not None:
                setattr(threading, name, self._noticing(original))
        sys.addaudithook(self._hear)

    def forget(self) -> None:
        """Count from what is there now."""
        self.threads = 1 + self._count()
        self.children = running_below(isolated_os.getpid()) if _has_children() else 0
        self._made = processes_made()

    def settle(self) -> None:
        """Look once more, when the test is over: the spawn method of multiprocessing says nothing."""
        if self._made != processes_made():
            self.children = max(self.children, 1)

    def _noticing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **named: Any) -> Any:
            self.threads = max(self.threads, self._count() + 2)  # the main one, and the one that starts now
            return original(*arguments, **named)

        return start

    def _hear(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _STARTS_A_PROCESS and isolated_os.getpid() == self._owner:
            self.children = max(self.children, running_below(self._owner) + 1)


def _has_children() -> bool:
    # Of this thread only: cheap, and enough to know whether to look closer.
    try:
        return bool(read_file("/proc/thread-self/children").strip())
    except OSError:
        return False


def running_below(pid: int) -> int:
    """How many processes that still run descend from this one."""
    found = 0
    for child in children_of(pid):
        try:
            ended = read_file("/proc/%d/stat" % child).rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except (OSError, IndexError):
            continue
        found += not ended
        found += running_below(child)
    return found


def children_of(pid: int) -> list[int]:
    """The processes that a process started, whichever of its threads did."""
    found: list[int] = []
    try:
        threads = isolated_os.listdir("/proc/%d/task" % pid)
    except OSError:
        return found
    for thread in threads:
        try:
            found += map(int, read_file("/proc/%d/task/%s/children" % (pid, thread)).split())
        except OSError:  # noqa: PERF203 (ended meanwhile)
            continue
    return found
