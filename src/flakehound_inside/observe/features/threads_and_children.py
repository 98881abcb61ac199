"""The largest numbers of threads and child processes that a test has at the same time.

Counted at each start of one, because a number can only grow then. Threads and processes that native code starts
are not counted here; the parent process takes samples for them.
"""

from __future__ import annotations

import _thread
import sys
import threading
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.process_starts import multiprocessing_counter
from flakehound_inside.proc_filesystem import count_running_descendants, this_thread_has_children

if TYPE_CHECKING:
    from typing import Any, Callable

_PROCESS_EVENTS = frozenset(["subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.system"])
# The functions by which `threading` starts a thread: the second since Python 3.13.
_THREAD_STARTERS = ("_start_new_thread", "_start_joinable_thread")


class ThreadsAndChildren:
    """The peaks since the last reset."""

    def __init__(self) -> None:
        self.max_threads = 1
        self.max_children = 0
        self._process = 0
        self._multiprocessing_before = ""
        self._count_threads: Callable[[], int] = _thread._count

    def start(self) -> None:
        """Start to count; cannot be undone, so only for a process that ends with its run."""
        self._process = isolated_os.getpid()
        for name in _THREAD_STARTERS:
            original = getattr(threading, name, None)
            if original is not None:
                setattr(threading, name, self._counting_starter(original))
        sys.addaudithook(self._receive)

    def reset(self) -> None:
        """Begin another test with the current numbers as peaks."""
        self.max_threads = 1 + self._count_threads()
        self.max_children = count_running_descendants(isolated_os.getpid()) if this_thread_has_children() else 0
        self._multiprocessing_before = multiprocessing_counter()

    def finish_test(self) -> None:
        """Count a process of multiprocessing's spawn method, which raises no audit event."""
        if self._multiprocessing_before != multiprocessing_counter():
            self.max_children = max(self.max_children, 1)

    def _counting_starter(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def start(*arguments: Any, **keywords: Any) -> Any:
            self.max_threads = max(self.max_threads, self._count_threads() + 2)  # the main one and the new one
            return original(*arguments, **keywords)

        return start

    def _receive(self, event: str, _arguments: tuple[Any, ...]) -> None:
        if event in _PROCESS_EVENTS and isolated_os.getpid() == self._process:
            self.max_children = max(self.max_children, count_running_descendants(self._process) + 1)
