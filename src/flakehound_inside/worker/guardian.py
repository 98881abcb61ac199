"""Stand between us and a new interpreter that runs tests.

Signals that a test sends to the process above it end here, and so do the processes it leaves behind.
"""

from __future__ import annotations

import signal
import socket
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.worker.reaper import become_reaper
from flakehound_inside.worker.supervise import supervise

if TYPE_CHECKING:
    from typing import NoReturn

    from flakehound_inside.message_types import Watched


def guard(request: Watched, peer_number: int) -> None:
    """Return in a new process; this one waits for it, tells the peer how it ended, and is never back."""
    pid = isolated_os.fork()
    if pid == 0:
        isolated_os.close(peer_number)
        isolated_os.setsid()
        return
    try:
        _stand_guard(pid, request, socket.socket(fileno=peer_number))
    finally:
        isolated_os.exit(1)


def _stand_guard(pid: int, request: Watched, peer: socket.socket) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        isolated_os.set_handler(number, int(signal.SIG_IGN))
    become_reaper()
    ended = supervise(pid, request, peer, reaper=True)
    peer.sendall(isolated_os.dumps(ended).encode() + b"\n")
    isolated_os.exit(0)
