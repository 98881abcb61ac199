"""Threads and open files after collection that a forked process could not use like a new one."""

from __future__ import annotations

import os
import stat
import threading
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import open_descriptors

if TYPE_CHECKING:
    from typing import Iterable, Mapping

_APPEND = os.O_APPEND
_WRITABLE = os.O_WRONLY | os.O_RDWR


def reasons_against_forking(before: Mapping[int, str]) -> list[str]:
    """Why a fork of this process would not behave like a new process; empty if it would.

    Only Python threads count. Libraries such as OpenBLAS start native threads and handle forks themselves.
    """
    reasons = []
    threads = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    if threads:
        reasons.append("threads are alive after collection: " + ", ".join(sorted(threads)[:5]))
    handles = unsafe_handles(before)
    if handles:
        reasons.append("handles are open after collection: " + ", ".join(handles[:5]))
    return reasons


def unsafe_handles(before: Mapping[int, str]) -> list[str]:
    """Descriptors opened since `before` that two processes cannot share, because of their position or peer."""
    unsafe = []
    for number, target in open_descriptors().items():
        if before.get(number) != target and _is_unsafe_to_share(number, target):
            unsafe.append(target)
    return sorted(unsafe)


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
