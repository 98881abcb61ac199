"""Services on this machine that a process connects to, and those of them that it runs itself."""

from __future__ import annotations

import _socket
import os
import weakref
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.process_starts import decode_path

if TYPE_CHECKING:
    from typing import Any


# Of this machine and of networks that are not public: containers of a build have such addresses.
_PRIVATE = (
    "127.",
    "10.",
    "192.168.",
    "169.254.",
    *("172.%d." % second for second in range(16, 32)),
    "fd",
    "fe80:",
)


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


def is_port_in_use(address: Any) -> bool:
    """Whether a socket of this machine is bound to the port of an address; True if that is not known."""
    port = address[1] if isinstance(address, tuple) and len(address) > 1 else 0
    if not isinstance(port, int) or not port:
        return False
    tables = [_text_of("/proc/net/" + name) for name in ("tcp", "tcp6", "udp", "udp6")]
    lines = [line.split() for table in tables for line in table.splitlines()[1:]]
    return not any(tables) or any(line[1].endswith(":%04X" % port) for line in lines if len(line) > 1)


def _text_of(path: str) -> str:
    """The text of a file of the system; empty if there is none."""
    try:
        file = isolated_os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        return b"".join(iter(lambda: isolated_os.read(file, 65536), b"")).decode("ascii", "replace")
    finally:
        isolated_os.close(file)


def local_service_name(address: Any) -> str:
    """The name of a service on this machine; empty for any other address and for the system log."""
    if isinstance(address, (str, bytes)):
        name = decode_path(address)
        return "" if name == "/dev/log" else repr(name)
    if not isinstance(address, tuple) or len(address) < 2:
        return ""
    host = decode_path(address[0]) if isinstance(address[0], (str, bytes)) else ""
    host_in_4 = host[len("::ffff:") :] if host.startswith("::ffff:") else host
    is_local = host in ("", "localhost", "::1", "0.0.0.0", "::") or host_in_4.startswith(_PRIVATE)
    return "%s:%s" % (host, address[1]) if is_local else ""
