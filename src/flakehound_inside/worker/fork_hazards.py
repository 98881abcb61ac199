"""Threads, open files and connections after collection that a forked process could not use like a new one."""

from __future__ import annotations

import os
import socket
import stat
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import open_descriptors
from flakehound_inside.worker.idle_executors import threads_that_work
from flakehound_inside.worker.native_threads import libraries_with_native_threads

if TYPE_CHECKING:
    from typing import Iterable, Mapping

_APPEND = os.O_APPEND
_WRITABLE = os.O_WRONLY | os.O_RDWR


def reasons_against_forking(before: Mapping[int, str]) -> list[str]:
    """Why a fork of this process would not behave like a new process; empty if it would.

    Native threads count only if they are of a library that is known to need them. Threads of a pool that wait for
    work do not count: see `idle_executors.py`.
    """
    reasons = []
    threads = threads_that_work()
    if threads:
        reasons.append("threads are alive after collection: " + ", ".join(threads[:5]))
    reasons += [
        "%s has started native threads, which a fork does not have" % library
        for library in libraries_with_native_threads()
    ]
    handles = unsafe_handles(before)
    if handles:
        reasons.append("handles are open after collection: " + ", ".join(handles[:5]))
    return reasons


def unsafe_handles(before: Mapping[int, str]) -> list[str]:
    """Descriptors opened since `before` that two processes cannot share, because of their position or peer."""
    unsafe = []
    shared_on_purpose = _descriptors_of_resource_trackers()
    for number, target in open_descriptors().items():
        if before.get(number) == target or number in shared_on_purpose:
            continue
        if _is_unsafe_to_share(number, target):
            unsafe.append(_with_peer(number, target) if target.startswith("socket:") else target)
    return sorted(unsafe)


def _descriptors_of_resource_trackers() -> set[int]:
    """Pipes to the process that multiprocessing or loky starts to clean up: forks are meant to share it."""
    trackers = [
        getattr(module, "_resource_tracker", None)
        for name, module in list(sys.modules.items())
        if name.endswith("resource_tracker")
    ]
    numbers = [getattr(tracker, "_fd", None) for tracker in trackers]
    return {number for number in numbers if isinstance(number, int)}


def _with_peer(number: int, target: str) -> str:
    """The socket, and what it is connected to: a database, for example."""
    try:
        copy = socket.socket(fileno=number)
    except OSError:
        return target
    try:
        peer = copy.getpeername()
    except OSError:  # not connected
        return target
    finally:
        copy.detach()
    address = "%s:%s" % peer[:2] if isinstance(peer, tuple) and len(peer) >= 2 else str(peer)
    return "%s connected to %s" % (target, address) if address else target


def files_open_for_reading(before: Mapping[int, str]) -> list[int]:
    """Descriptors of regular files opened since `before` for reading only, which processes can read separately."""
    return [
        number
        for number, target in open_descriptors().items()
        if before.get(number) != target and _is_regular_file(number) and not _flags_of(number) & _WRITABLE
    ]


def separate_read_positions(numbers: Iterable[int]) -> None:
    """Give this process its own position in these files; forked processes share one."""
    for number in numbers:
        try:
            position = isolated_os.lseek(number, 0, os.SEEK_CUR)
            new_number = isolated_os.open("/proc/self/fd/%d" % number, os.O_RDONLY)
        except OSError:
            continue
        isolated_os.lseek(new_number, position, os.SEEK_SET)
        isolated_os.dup2(new_number, number, os.get_inheritable(number))
        isolated_os.close(new_number)


def _is_unsafe_to_share(number: int, target: str) -> bool:
    if target.startswith(("socket:", "pipe:", "anon_inode:[eventpoll]", "anon_inode:[io_uring]")):
        return True
    if not _is_regular_file(number) or target.endswith("(deleted)"):
        return False
    flags = _flags_of(number)
    return bool(flags & _WRITABLE and not flags & _APPEND)


def _is_regular_file(number: int) -> bool:
    try:
        return stat.S_ISREG(isolated_os.fstat(number).st_mode)
    except OSError:
        return False


def _flags_of(number: int) -> int:
    try:
        info = isolated_os.open("/proc/self/fdinfo/%d" % number, os.O_RDONLY)
    except OSError:
        return 0
    try:
        for line in isolated_os.read(info, 4096).splitlines():
            if line.startswith(b"flags:"):
                return int(line.split()[1], 8)
    finally:
        isolated_os.close(info)
    return 0
