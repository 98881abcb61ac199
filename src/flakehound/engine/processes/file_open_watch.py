"""Detect which of the given files are opened by any process, including native code.

Works on Linux only, as it uses inotify; elsewhere only the audit events of the recorder are available.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_IN_OPEN = 0x20
_IN_Q_OVERFLOW = 0x4000
_EVENT = struct.Struct("iIII")  # watch, mask, cookie, length of the name that follows


class FileOpenWatch:
    """Watches files from its creation until `close`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths: dict[int, Path] = {}  # by watch
        self._unwatched: list[Path] = []  # could not be watched, so they count as opened
        self._descriptor = -1
        system = _inotify()
        if system is None or not paths:
            return
        self._descriptor = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths if self._descriptor >= 0 else ():
            number = system.inotify_add_watch(self._descriptor, os.fsencode(path), _IN_OPEN)
            if number >= 0:
                self._paths[number] = path
            elif path.exists():
                self._unwatched.append(path)

    def opened_files(self) -> list[Path]:
        """The files that were opened, and those that could not be watched."""
        opened = dict.fromkeys(self._unwatched)
        for number, mask in self._events():
            if mask & _IN_Q_OVERFLOW:
                return [*self._unwatched, *self._paths.values()]
            if mask & _IN_OPEN and number in self._paths:
                opened[self._paths[number]] = None
        return list(opened)

    def _events(self) -> Iterator[tuple[int, int]]:
        while self._descriptor >= 0:
            try:
                events = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            position = 0
            while position < len(events):
                number, mask, _cookie, length = _EVENT.unpack_from(events, position)
                yield number, mask
                position += _EVENT.size + length

    def close(self) -> None:
        """Stop watching."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1


def _inotify() -> Any:
    """The C library where it has inotify, else None."""
    with contextlib.suppress(OSError):
        library = ctypes.CDLL(None, use_errno=True)
        if hasattr(library, "inotify_init1"):
            return library
    return None
