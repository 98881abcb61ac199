"""System functions, bound at import so that neither a mock nor a time-freezing library can replace them.

Tests patch `open`, `time.time`, `json.dumps` or `os.fork`; freezegun rewrites module attributes that
are clocks. A class attribute of ours is neither the module attribute they patch nor one they scan.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # `signal` without its enums, which cost time in every child
import os
import select
import time
from typing import TYPE_CHECKING

from flakehound_inside.isolated import isolated

if TYPE_CHECKING:
    from typing import Any, Callable

    from flakehound_inside.message_types import SignalHandler

try:
    import fcntl as fcntl
    import resource as resource
except ImportError:  # no such system calls on this platform
    fcntl = resource = None  # type: ignore[assignment]  # callers check for None

# The value of a function that the platform does not have. Typed as if every platform had all of them: callers
# check first that `fork`, `fcntl` or `resource` exists, and check `pidfd_open`, which is newer, itself.
_MISSING_FUNCTION: Any = None


class isolated_os(isolated):  # noqa: N801 (used like a module: isolated_os.open)
    """The functions that code in the process of the tests may call."""

    sleep = staticmethod(time.sleep)
    open = staticmethod(os.open)
    close = staticmethod(os.close)
    read = staticmethod(os.read)
    write = staticmethod(os.write)
    fstat = staticmethod(os.fstat)
    pread: Callable[[int, int, int], bytes] = staticmethod(getattr(os, "pread", _MISSING_FUNCTION))
    ftruncate: Callable[[int, int], None] = staticmethod(getattr(os, "ftruncate", _MISSING_FUNCTION))
    dup2 = staticmethod(os.dup2)
    fork: Callable[[], int] = staticmethod(getattr(os, "fork", _MISSING_FUNCTION))
    wait4: Callable[[int, int], tuple[int, int, resource.struct_rusage]] = staticmethod(
        getattr(os, "wait4", _MISSING_FUNCTION)
    )
    pidfd_open: Callable[[int], int] | None = staticmethod(getattr(os, "pidfd_open", _MISSING_FUNCTION))
    poll: Callable[[], select.poll] = staticmethod(getattr(select, "poll", _MISSING_FUNCTION))
    kill = staticmethod(os.kill)
    killpg: Callable[[int, int], None] = staticmethod(getattr(os, "killpg", _MISSING_FUNCTION))
    getpid = staticmethod(os.getpid)
    getppid = staticmethod(os.getppid)
    setsid: Callable[[], None] = staticmethod(getattr(os, "setsid", _MISSING_FUNCTION))
    exit = staticmethod(os._exit)
    mkdir = staticmethod(os.mkdir)
    rmdir = staticmethod(os.rmdir)
    listdir = staticmethod(os.listdir)
    unlink = staticmethod(os.unlink)
    lstat = staticmethod(os.lstat)
    stat = staticmethod(os.stat)
    lseek = staticmethod(os.lseek)
    chmod = staticmethod(os.chmod)
    utime = staticmethod(os.utime)
    symlink = staticmethod(os.symlink)
    readlink = staticmethod(os.readlink)
    set_handler: Callable[[int, SignalHandler], SignalHandler] = staticmethod(_signal.signal)
    handler_of: Callable[[int], SignalHandler] = staticmethod(_signal.getsignal)
    limit_of: Callable[[int], tuple[int, int]] = staticmethod(getattr(resource, "getrlimit", _MISSING_FUNCTION))
    set_limit: Callable[[int, tuple[int, int]], None] = staticmethod(
        getattr(resource, "setrlimit", _MISSING_FUNCTION)
    )
    usage: Callable[[int], resource.struct_rusage] = staticmethod(
        getattr(resource, "getrusage", _MISSING_FUNCTION)
    )
    control: Callable[[int, int, int], int] = staticmethod(getattr(fcntl, "fcntl", _MISSING_FUNCTION))
