"""What Python's audit events tell of a test for free: the processes it starts, the files and sockets it opens.

Heard on every Python, of native code as well. `time.sleep` is told from Python 3.13 on, a new thread from 3.12 on.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.audit import PROCESSES, command_line

if TYPE_CHECKING:
    from typing import Any, Callable

    from flakehound_inside.observe.calls.ledger import Ledger
    from flakehound_inside.observe.calls.names import CName

_MOST = 100  # processes of one test
# Event -> the function that raises it, as a tracer would name it.
TOLD: dict[str, CName] = {
    "open": ("_io", "", "open"),
    "os.listdir": ("posix", "", "listdir"),
    "os.scandir": ("posix", "", "scandir"),
    "os.mkdir": ("posix", "", "mkdir"),
    "socket.connect": ("_socket", "socket", "connect"),
    "socket.bind": ("_socket", "socket", "bind"),
    "socket.getaddrinfo": ("_socket", "", "getaddrinfo"),
    "socket.gethostbyname": ("_socket", "", "gethostbyname"),
    "time.sleep": ("time", "", "sleep"),
    "_thread.start_new_thread": ("_thread", "", "start_new_thread"),
}


class Audit:
    """Hears of events and writes them into the ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger
        self._process = isolated_os.getpid()
        # Where a tracer may be standing down: asked whether it listens, and told that something happens.
        self.is_traced: Callable[[], bool] = lambda: True
        self.wake: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Listen from now on; Python knows no way to take the hook back."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        ledger = self._ledger
        if ledger.seen is None:
            return
        name = PROCESSES.get(event)
        if name is not None:
            self._hear_process(name, arguments)
        elif event in TOLD and not self.is_traced():
            self._hear_function(TOLD[event])
            self.wake()

    def _hear_process(self, name: Callable[[tuple[Any, ...]], Any], arguments: tuple[Any, ...]) -> None:
        ledger = self._ledger
        if len(ledger.children) >= _MOST or isolated_os.getpid() != self._process:
            return
        try:
            ledger.children.append((ledger.phase, command_line(name(arguments))))
        except Exception as error:  # whatever it is, the test must not notice
            ledger.note("a process could not be named: %s" % type(error).__name__)

    def _hear_function(self, name: CName) -> None:
        ledger = self._ledger
        if ledger.seen is None or not ledger.is_wanted_c(name):
            return
        ledger.seen[name] = ledger.seen.get(name, 0) + 1
        ledger.hit(name, sys._getframe(2))
