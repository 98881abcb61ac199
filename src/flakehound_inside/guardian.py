"""Stand between us and a new interpreter that runs tests.

Signals that a test sends to the process above it end here, and so do the processes it leaves behind.
"""

import signal
import socket

from flakehound_inside.real import real
from flakehound_inside.reaper import become_reaper
from flakehound_inside.supervise import supervise


def guard(request, peer_number):
    """Return in a new process; this one waits for it, tells the peer how it ended, and is never back."""
    pid = real.fork()
    if pid == 0:
        real.close(peer_number)
        real.setsid()
        return
    try:
        _stand_guard(pid, request, socket.socket(fileno=peer_number))
    finally:
        real.exit(1)


def _stand_guard(pid, request, peer):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        real.set_handler(number, int(signal.SIG_IGN))
    become_reaper()
    ended = supervise(pid, request, peer, reaper=True)
    peer.sendall(real.dumps(ended).encode() + b"\n")
    real.exit(0)
