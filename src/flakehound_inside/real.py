"""The functions we rely on, held where neither a mock nor a time-freezing library reaches them.

Tests patch `open`, `time.time`, `json.dumps` or `os.fork`; freezegun rewrites module attributes that
are clocks. A class attribute of ours is neither the module attribute they patch nor one they scan.
"""

import _signal  # type: ignore[import-not-found]  # `signal` without its enums, which every child would pay for
import json
import os
import select
import time

try:
    import fcntl
    import resource
except ImportError:  # no such system calls on this platform
    fcntl = resource = None


class real:  # noqa: N801 (read as an adjective: real.open, real.clock)
    """Every outside function the code that runs beside tests may call."""

    clock = staticmethod(time.perf_counter)  # on Linux the same clock in every process
    sleep = staticmethod(time.sleep)
    dumps = staticmethod(json.JSONEncoder().encode)
    loads = staticmethod(json.JSONDecoder().decode)
    open = staticmethod(os.open)
    close = staticmethod(os.close)
    read = staticmethod(os.read)
    write = staticmethod(os.write)
    fstat = staticmethod(os.fstat)
    pread = staticmethod(getattr(os, "pread", None))
    ftruncate = staticmethod(getattr(os, "ftruncate", None))
    dup2 = staticmethod(os.dup2)
    fork = staticmethod(getattr(os, "fork", None))
    wait4 = staticmethod(getattr(os, "wait4", None))
    pidfd_open = staticmethod(getattr(os, "pidfd_open", None))
    poll = staticmethod(getattr(select, "poll", None))
    kill = staticmethod(os.kill)
    killpg = staticmethod(getattr(os, "killpg", None))
    getpid = staticmethod(os.getpid)
    getppid = staticmethod(os.getppid)
    setsid = staticmethod(getattr(os, "setsid", None))
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
    set_handler = staticmethod(_signal.signal)
    handler_of = staticmethod(_signal.getsignal)
    limit_of = staticmethod(getattr(resource, "getrlimit", None))
    set_limit = staticmethod(getattr(resource, "setrlimit", None))
    control = staticmethod(getattr(fcntl, "fcntl", None))
