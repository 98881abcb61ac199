"""Adopting orphaned processes, and ending together with the parent process; has an effect only on Linux."""

from __future__ import annotations

import functools
import signal
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any, Callable

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36


def become_reaper() -> None:
    """Make this process the parent of orphaned descendants, so that it can end them."""
    _control_process(_PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent() -> None:
    """End this process when its parent ends."""
    _control_process(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _control_process(option: int, value: int) -> None:
    control = _prctl()
    if control is not None:
        control(option, int(value), 0, 0, 0)


@functools.lru_cache(maxsize=None)  # looked up once, before the forks that need it
def _prctl() -> Callable[..., Any] | None:
    if not sys.platform.startswith("linux"):
        return None
    try:
        import ctypes

        return ctypes.CDLL(None, use_errno=True).prctl
    except (ImportError, OSError, AttributeError):
        return None
