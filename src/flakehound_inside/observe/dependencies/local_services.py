"""Services on this machine that a process connects to, and those of them that it runs itself."""

from __future__ import annotations

import _socket
import weakref
from typing import TYPE_CHECKING

from flakehound_inside.observe.process_starts import decode_path

if TYPE_CHECKING:
    from typing import Any


class LocalServices:
    """Remembers the sockets that the process binds, without keeping them alive."""

    def __init__(self) -> None:
        self._bound: list[weakref.ref[Any]] = []

    def add_bound(self, socket: Any) -> None:
        """Note a socket that the process binds."""
        self._bound.append(weakref.ref(socket))

    def is_own(self, address: Any) -> bool:
        """Whether the process itself listens at an address, so that the code of the service is observed, too."""
        for reference in self._bound:
            bound = reference()
            try:
                own_address = _socket.socket.getsockname(bound) if bound is not None else None
            except OSError:  # closed
                continue
            if own_address == address:
                return True
            if isinstance(own_address, tuple) and isinstance(address, tuple) and own_address[1] == address[1]:
                return True
        return False


def local_service_name(address: Any) -> str:
    """The name of a service on this machine; empty for any other address and for the system log."""
    if isinstance(address, (str, bytes)):
        name = decode_path(address)
        return "" if name == "/dev/log" else repr(name)
    if not isinstance(address, tuple) or len(address) < 2:
        return ""
    host = decode_path(address[0]) if isinstance(address[0], (str, bytes)) else ""
    is_local = host in ("", "localhost", "::1", "0.0.0.0", "::") or host.startswith(("127.", "::ffff:127."))
    return "%s:%s" % (host, address[1]) if is_local else ""
