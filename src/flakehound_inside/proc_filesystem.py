"""Read what Linux reports about processes under /proc, by functions that no test can mock.

On systems without /proc every function returns an empty result.
"""

from __future__ import annotations

import os

from flakehound_inside.isolated_os import isolated_os


def read_file(path: str) -> bytes:
    """The content of a small file."""
    file = isolated_os.open(path, os.O_RDONLY)
    try:
        return isolated_os.read(file, 1 << 20)
    finally:
        isolated_os.close(file)


def open_descriptors() -> dict[int, str]:
    """The open file descriptors of this process, each with the path or object that it refers to."""
    targets: dict[int, str] = {}
    try:
        numbers = isolated_os.listdir("/proc/self/fd")
    except OSError:
        return targets
    for number in numbers:
        try:
            targets[int(number)] = isolated_os.readlink("/proc/self/fd/" + number)
        except OSError:  # noqa: PERF203 (closed since it was listed)
            continue
    return targets


def own_children() -> list[int]:
    """Process ids of the children of this process's main thread, including adopted orphans."""
    me = isolated_os.getpid()
    try:
        return [int(number) for number in read_file("/proc/%d/task/%d/children" % (me, me)).split()]
    except OSError:  # a kernel without CONFIG_PROC_CHILDREN
        return [pid for pid in _all_processes() if _parent_of(pid) == me]


def _all_processes() -> list[int]:
    try:
        return [int(name) for name in isolated_os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _parent_of(pid: int) -> int:
    try:
        return int(read_file("/proc/%d/stat" % pid).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def this_thread_has_children() -> bool:
    """Whether the calling thread has started a process that was not waited for; costs one small read."""
    try:
        return bool(read_file("/proc/thread-self/children").strip())
    except OSError:
        return False


def children_of(pid: int) -> list[int]:
    """Process ids of the children of a process, of all its threads."""
    children: list[int] = []
    try:
        threads = isolated_os.listdir("/proc/%d/task" % pid)
    except OSError:
        return children
    for thread in threads:
        try:
            children += map(int, read_file("/proc/%d/task/%s/children" % (pid, thread)).split())
        except OSError:  # noqa: PERF203 (the thread ended since it was listed)
            continue
    return children


def count_running_descendants(pid: int) -> int:
    """How many descendants of a process are still running."""
    count = 0
    for child in children_of(pid):
        try:
            has_ended = read_file("/proc/%d/stat" % child).rpartition(b")")[2].split()[0] in (b"Z", b"X")
        except (OSError, IndexError):
            continue
        count += not has_ended
        count += count_running_descendants(child)
    return count
