"""Calls that Python's audit events report without a tracer: started processes, opened files and sockets.

Raised by every Python, for native code as well; by `time.sleep` since Python 3.13, by new threads since 3.12.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.observe.process_starts import PROGRAM_IN_EVENT, command_line

if TYPE_CHECKING:
    from typing import Any, Callable

    from flakehound_inside.observe.calls.ledger import CallLedger
    from flakehound_inside.observe.calls.names import CName

_MAX_PROCESSES = 100  # of one test
# The function that raises each event, by the name that a tracer would give it.
FUNCTION_OF_EVENT: dict[str, CName] = {
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


class AuditedCalls:
    """Adds audited calls to the ledger, unless the tracer reports them itself."""

    def __init__(self, ledger: CallLedger) -> None:
        self._ledger = ledger
        self._process = isolated_os.getpid()
        # Replaced if the tracer may be switched off for a while.
        self.is_traced: Callable[[], bool] = lambda: True
        self.resume_tracer: Callable[[], None] = lambda: None

    def start(self) -> None:
        """Receive events from now on; Python has no way to remove an audit hook."""
        sys.addaudithook(self._receive)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        ledger = self._ledger
        if ledger.current_calls is None:
            return
        program_in = PROGRAM_IN_EVENT.get(event)
        if program_in is not None:
            self._add_process(program_in, arguments)
        elif event in FUNCTION_OF_EVENT and not self.is_traced():
            self._add_function(FUNCTION_OF_EVENT[event])
            self.resume_tracer()

    def _add_process(self, program_in: Callable[[tuple[Any, ...]], Any], arguments: tuple[Any, ...]) -> None:
        ledger = self._ledger
        if len(ledger.children) >= _MAX_PROCESSES or isolated_os.getpid() != self._process:
            return
        try:
            ledger.children.append((ledger.phase, command_line(program_in(arguments))))
        except Exception as error:  # our failure must not fail the user's test
            ledger.note("a process could not be named: %s" % type(error).__name__)

    def _add_function(self, name: CName) -> None:
        ledger = self._ledger
        if ledger.current_calls is None or not ledger.is_wanted_c(name):
            return
        ledger.current_calls[name] = ledger.current_calls.get(name, 0) + 1
        ledger.add_hit(name, sys._getframe(2))
