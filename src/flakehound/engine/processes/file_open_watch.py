"""Notice which of some files are opened, whoever opens them: native code and child processes too.

By inotify, so on Linux only; elsewhere nothing is noticed, and the recorder's audit events have to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

_OPENED = 0x20  # IN_OPEN
_LOST = 0x4000  # IN_Q_OVERFLOW
_EVENT = struct.Struct("iIII")  # watch, what happened, cookie, length of the name that follows


class OpenWatch:
    """The files that were opened since the watch began; ends with `close`."""

    def __init__(self, paths: Sequence[Path]) -> None:
        self._paths: dict[int, Path] = {}  # by watch
        self._lost: list[Path] = []  # not watched, so perhaps opened
        self._descriptor = -1
        system = _inotify()
        if system is None or not paths:
            return
        self._descriptor = system.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths if self._descriptor >= 0 else ():
            number = system.inotify_add_watch(self._descriptor, os.fsencode(path), _OPENED)
            if number >= 0:
                self._paths[number] = path
            elif path.exists():
                self._lost.append(path)

    def opened(self) -> list[Path]:
        """The files that were opened, and those of which the system does not tell."""
        found = dict.fromkeys(self._lost)
        for number, happened in self._events():
            if happened & _LOST:
                return [*self._lost, *self._paths.values()]
            if happened & _OPENED and number in self._paths:
                found[self._paths[number]] = None
        return list(found)

    def _events(self) -> Iterator[tuple[int, int]]:
        while self._descriptor >= 0:
            try:
                told = os.read(self._descriptor, 1 << 16)
            except BlockingIOError:
                return
            place = 0
            while place < len(told):
                number, happened, _cookie, length = _EVENT.unpack_from(told, place)
                yield number, happened
                place += _EVENT.size + length

    def close(self) -> None:
        """Watch no longer."""
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
