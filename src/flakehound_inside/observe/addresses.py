"""Notes the network addresses that a plain run binds and that every other run of the suite would bind, too.

Two runs at the same time cannot both bind one. Observed through Python's audit events, so only in this process.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.observe.writes import append_note

if TYPE_CHECKING:
    from typing import Any

_FIRST_EPHEMERAL_PORT = 32768  # the lowest that Linux assigns when any free port is requested


class AddressObserver:
    """Writes one line per address: a port, or the path of a socket."""

    def __init__(self, folder: str, own_folder: str) -> None:
        self._notes = os.path.join(folder, "addresses")
        self._own_folder = os.path.realpath(own_folder) + os.sep
        self._noted: set[str] = set()
        self._uses_free_ports = False  # then the system may have chosen a high port number

    def start(self) -> None:
        """Observe from now on; Python has no way to remove an audit hook."""
        sys.addaudithook(self._receive)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event != "socket.bind":
            return
        try:
            address = self._fixed_address(arguments[1])
            if address and address not in self._noted:
                self._noted.add(address)
                append_note(self._notes, address)
        except (OSError, ValueError):
            pass

    def _fixed_address(self, address: object) -> str:
        """A description of the address; empty if another run would bind another one."""
        if isinstance(address, tuple) and len(address) > 1 and isinstance(address[1], int):
            return self._fixed_port(address[1])
        if isinstance(address, (str, bytes, os.PathLike)):
            return self._fixed_path(os.fsdecode(address))
        return ""

    def _fixed_port(self, port: int) -> str:
        self._uses_free_ports = self._uses_free_ports or port == 0
        return "" if port == 0 or (self._uses_free_ports and port >= _FIRST_EPHEMERAL_PORT) else "port %d" % port

    def _fixed_path(self, path: str) -> str:
        if not path or path.startswith("\0"):
            return path and "socket %r" % path[1:]
        path = os.path.realpath(path)
        return "" if path.startswith(self._own_folder) else path
