"""Note which addresses a plain run binds that every other run of the suite would bind, too.

Two runs at once cannot both have one. Seen through Python's audit events; what a child program binds is not seen.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.writes import append_note

if TYPE_CHECKING:
    from typing import Any

_FIRST_FREE = 32768  # a system that is asked for any free port gives this or a higher one


class AddressWatch:
    """Writes one line per address: a port, or the path of a socket."""

    def __init__(self, folder: str, ours: str) -> None:
        self._notes = os.path.join(folder, "addresses")
        self._ours = os.path.realpath(ours) + os.sep
        self._seen: set[str] = set()
        self._found_free = False  # the suite asks for free ports: a high one may be such a port

    def start(self) -> None:
        """Watch from now on; Python knows no way to stop."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "socket.bind":
            return
        try:
            address = self._fixed(arguments[1])
            if address and address not in self._seen:
                self._seen.add(address)
                append_note(self._notes, address)
        except (OSError, ValueError):
            pass

    def _fixed(self, address: object) -> str:
        """How to call it; empty if another run would bind another one."""
        if isinstance(address, tuple) and len(address) > 1 and isinstance(address[1], int):
            return self._fixed_port(address[1])
        if isinstance(address, (str, bytes, os.PathLike)):
            return self._fixed_path(os.fsdecode(address))
        return ""

    def _fixed_port(self, port: int) -> str:
        self._found_free = self._found_free or port == 0
        return "" if port == 0 or (self._found_free and port >= _FIRST_FREE) else "port %d" % port

    def _fixed_path(self, path: str) -> str:
        if not path or path.startswith("\0"):
            return path and "socket %r" % path[1:]
        path = os.path.realpath(path)
        return "" if path.startswith(self._ours) else path
