"""What the process holds after collection that a fork would copy wrongly."""

import os
import stat
import threading

_APPEND = os.O_APPEND


def open_descriptors():
    """Number -> what it points to; empty where the system does not tell."""
    found = {}
    try:
        numbers = os.listdir("/proc/self/fd")
    except OSError:
        return found
    for number in numbers:
        try:
            found[int(number)] = os.readlink("/proc/self/fd/" + number)
        except OSError:
            continue
    return found


def reasons_against_forking(before):
    """Why a copy of this process would not behave like a new one; empty when it would.

    Only Python threads count. Libraries such as OpenBLAS start native threads and look after forks.
    """
    reasons = []
    threads = [t.name for t in threading.enumerate() if t is not threading.main_thread()]
    if threads:
        reasons.append("threads are alive after collection: " + ", ".join(sorted(threads)[:5]))
    handles = unsafe_handles(before)
    if handles:
        reasons.append("handles are open after collection: " + ", ".join(handles[:5]))
    return reasons


def unsafe_handles(before):
    """Descriptors opened since `before` whose position or peer two processes would share."""
    unsafe = []
    for number, target in open_descriptors().items():
        if before.get(number) != target and _is_shared_badly(number, target):
            unsafe.append(target)
    return sorted(unsafe)


def _is_shared_badly(number, target):
    if target.startswith(("socket:", "pipe:", "anon_inode:[eventpoll]", "anon_inode:[io_uring]")):
        return True
    try:
        mode = os.fstat(number).st_mode
        flags = _flags_of(number)
    except OSError:
        return False
    writable = flags & (os.O_WRONLY | os.O_RDWR)
    return bool(stat.S_ISREG(mode) and writable and not flags & _APPEND and not target.endswith("(deleted)"))


def _flags_of(number):
    with open("/proc/self/fdinfo/%d" % number) as info:
        for line in info:
            if line.startswith("flags:"):
                return int(line.split()[1], 8)
    return 0
