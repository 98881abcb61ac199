"""End a triage when the pytest that asked for it has ended, and remove the folder that it has left.

The pytest plugin gives us a pipe as standard input, and the system closes the other end of it however that pytest
ends. No signal handler in the user's process is needed for that.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import threading
from pathlib import Path
from types import FrameType, TracebackType

_CLEAN_UP_LIMIT_S = 20.0  # then we end without it
_SIGNAL_PRECEDES_S = 1.0  # a signal to the whole process group may reach us before the parent has ended
_SIGNALS = (signal.SIGTERM, signal.SIGHUP)
_OWN_FOLDERS = "fh-"  # how the names of our temporary folders begin


class Ended(BaseException):
    """The triage has to end: its parent has ended, or a signal asks for it.

    Not a `KeyboardInterrupt`, by which a user ends one step and still gets the verdicts.
    """


class ParentWatch:
    """Within the block, `Ended` is raised in the main thread when the parent ends; then its folder is removed."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._pipe = -1
        self._is_over = threading.Event()

    def __enter__(self) -> ParentWatch:
        # The processes that we start get an empty standard input, and must not hold the pipe.
        self._pipe = os.dup(0)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        for number in _SIGNALS:
            signal.signal(number, _raise_ended)
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        self._is_over.set()
        if self._has_ended(wait_s=_SIGNAL_PRECEDES_S if isinstance(error, Ended) else 0.0):
            self._remove_folder()

    def _watch(self) -> None:
        while not self._has_ended(wait_s=None):
            pass
        if self._is_over.is_set():
            return
        os.kill(os.getpid(), signal.SIGTERM)  # a real one, because it has to end system calls of the main thread
        if not self._is_over.wait(_CLEAN_UP_LIMIT_S):
            self._remove_folder()
            os._exit(1)

    def _has_ended(self, *, wait_s: float | None) -> bool:
        """Whether the pipe is closed at its other end; None waits for it."""
        poll = select.poll()
        poll.register(self._pipe, select.POLLIN)
        if not poll.poll(None if wait_s is None else wait_s * 1000):
            return False
        return os.read(self._pipe, 1) == b""

    def _remove_folder(self) -> None:
        if self._folder.name.startswith(_OWN_FOLDERS):
            shutil.rmtree(self._folder, ignore_errors=True)


def _raise_ended(_number: int, _frame: FrameType | None) -> None:
    # Once: a second signal must not interrupt the cleaning up.
    for number in (*_SIGNALS, signal.SIGINT):
        signal.signal(number, signal.SIG_IGN)
    raise Ended
