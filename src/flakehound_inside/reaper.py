"""Ties between processes that outlive a test's attempts to cut them; Linux only, elsewhere no-ops."""

import functools
import signal
import sys

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def become_reaper():
    """Let the orphans of a test come to this process, which can end them."""
    _control_process(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent():
    """Let the end of the process that made this one be the end of this one."""
    _control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _control_process(what, value):
    control = _prctl()
    if control is not None:
        control(what, int(value), 0, 0, 0)


@functools.lru_cache(maxsize=None)  # looked up once, before the forks that need it
def _prctl():
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
