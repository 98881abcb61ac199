"""Thread pools of `concurrent.futures` whose threads wait for work: a forked process can start them again.

A fork has none of the threads, but the pool counts on them: whatever is submitted would never run. A pool in which
nothing is left to do is as good as new after its counts are reset, because it starts threads when they are needed.
"""

from __future__ import annotations

import threading
from concurrent.futures import thread as pools
from queue import SimpleQueue
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Any, Iterable

_WAIT_S = 0.5  # for threads that are about to finish their work
_POLL_S = 0.01
_Semaphore, _Lock, _enumerate, _main_thread = (
    threading.Semaphore,
    threading.Lock,
    threading.enumerate,
    threading.main_thread,
)


def other_threads() -> list[threading.Thread]:
    """The threads besides the main one."""
    return [thread for thread in _enumerate() if thread is not _main_thread()]


def idle_executors() -> list[Any]:
    """The pools of all threads of this process that wait for work in a pool."""
    executors: list[Any] = []
    for thread in other_threads():
        executor = _executor_of(thread)
        if executor is not None and _is_idle(executor) and not any(executor is known for known in executors):
            executors.append(executor)
    return executors


def threads_that_work() -> list[str]:
    """The names of the threads that are not idle threads of a pool; waits a moment for those that finish."""
    deadline = isolated_os.clock() + _WAIT_S
    while True:
        busy = [thread for thread in other_threads() if not _is_idle_worker(thread)]
        may_become_idle = [thread for thread in busy if getattr(thread, "_target", None) is pools._worker]
        if len(may_become_idle) < len(busy) or not busy or isolated_os.clock() > deadline:
            return sorted(thread.name for thread in busy)
        isolated_os.sleep(_POLL_S)


def restart(executors: Iterable[Any]) -> None:
    """Let these pools start new threads when they are needed; called in a forked process."""
    for executor in executors:
        executor._threads = set()
        executor._idle_semaphore = _Semaphore(0)
        executor._work_queue = SimpleQueue()
        executor._shutdown_lock = _Lock()


def _is_idle_worker(thread: threading.Thread) -> bool:
    executor = _executor_of(thread)
    return executor is not None and _is_idle(executor)


def _executor_of(thread: threading.Thread) -> Any:
    """The pool that a thread belongs to; None if it belongs to none, or the pool is gone."""
    if getattr(thread, "_target", None) is not pools._worker:
        return None
    arguments: Any = getattr(thread, "_args", ())
    try:
        executor = arguments[0]()
    except (IndexError, TypeError):
        return None
    return executor if isinstance(executor, pools.ThreadPoolExecutor) else None


def _is_idle(executor: Any) -> bool:
    """Whether nothing is left to do in a pool; False on versions of Python whose pools are made otherwise."""
    try:
        waiting = executor._idle_semaphore._value
        has_no_work = executor._work_queue.empty() and not executor._shutdown
        return bool(waiting >= len(executor._threads) and has_no_work)
    except AttributeError:
        return False
