"""The parent process of a new interpreter that runs tests.

It receives the signals that a test sends to its parent, and ends the processes that a test leaves behind.
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

    from flakehound_inside.message_types import SupervisedRun


def continue_under_guardian(request: SupervisedRun, peer_number: int) -> None:
    """Fork and return in the child; the parent waits for it, reports its end to the peer, and exits."""
    pid = isolated_os.fork()
    if pid == 0:
        isolated_os.close(peer_number)
        isolated_os.setsid()
        return
    try:
        _be_guardian(pid, request, socket.socket(fileno=peer_number))
    finally:
        isolated_os.exit(1)


def _be_guardian(pid: int, request: SupervisedRun, peer: socket.socket) -> NoReturn:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        isolated_os.set_handler(number, int(signal.SIG_IGN))
    become_reaper()
    process_end = supervise(pid, request, peer, is_reaper=True)
    peer.sendall(isolated_os.dumps(process_end).encode() + b"\n")
    isolated_os.exit(0)
