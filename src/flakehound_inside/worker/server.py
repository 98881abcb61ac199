"""Serve runs: one process that never runs a test keeps slots, each slot forks a child per request."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.worker.reaper import become_reaper, die_with_parent
from flakehound_inside.worker.supervise import CALLED_OFF, children, end_children, supervise

if TYPE_CHECKING:
    from typing import Mapping, NoReturn

    from flakehound_inside.message_types import Ended, Handler, Reply, Request, Settings
    from flakehound_inside.worker.child import Child

_HANDLERS = {
    int(signal.SIGTERM): int(signal.SIG_IGN),
    int(signal.SIGINT): int(signal.SIG_IGN),
    int(signal.SIGHUP): int(signal.SIG_IGN),
    int(signal.SIGCHLD): int(signal.SIG_DFL),  # a suite that ignores it would hide how our children end
}
_TAIL = 16384  # bytes of output worth keeping of a process that died


class Server:
    """The collected session. Tests run two forks below it, so that no test can take it down easily."""

    def __init__(self, settings: Settings, child: Child) -> None:
        self._child = child
        self._control = socket.socket(fileno=settings["control"])
        self._sockets = [socket.socket(fileno=number) for number in settings["slots"]]
        self._folder = settings["folder"]
        self._slots: dict[int, int] = {}  # process id -> slot number
        self._helpers = set(children())  # what the suite started while it was imported lives as long as we do
        self._signals = {number: isolated_os.handler_of(number) for number in _HANDLERS}

    def serve(self) -> None:
        """Keep every slot alive until the controller hangs up."""
        for number, handler in _HANDLERS.items():
            isolated_os.set_handler(number, handler)
        become_reaper()  # for the orphans of a slot that a test killed
        for slot in range(len(self._sockets)):
            self._fork_slot(slot)
        poll = isolated_os.poll()
        poll.register(self._control.fileno(), 1)
        while not poll.poll(50):
            self._revive()
        end_children(spared=self._helpers)

    def _fork_slot(self, slot: int) -> None:
        pid = isolated_os.fork()
        if pid == 0:
            try:
                self._control.close()
                for number, other in enumerate(self._sockets):
                    if number != slot:
                        other.close()
                Slot(self._sockets[slot], "%s/%d" % (self._folder, slot), self._child, self._signals).serve()
            finally:
                isolated_os.exit(0)
        self._slots[pid] = slot

    def _revive(self) -> None:
        while self._slots:
            pid, status, _usage = isolated_os.wait4(-1, os.WNOHANG)
            if not pid:
                return
            slot = self._slots.pop(pid, None)
            if slot is not None:
                end_children(spared=self._helpers.union(self._slots))
                died = {"slot_died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "pid": pid}
                _send(self._sockets[slot], died)
                self._fork_slot(slot)


class Slot:
    """Runs one request at a time, each in a child of its own."""

    def __init__(self, peer: socket.socket, folder: str, child: Child, signals: Mapping[int, Handler]) -> None:
        self._peer = peer
        self._folder = folder
        self._child = child
        self._signals = signals
        self._runs = 0
        self._unread = b""

    def serve(self) -> NoReturn:
        """Answer requests until the controller hangs up."""
        isolated_os.setsid()
        become_reaper()
        # A slot that took a killed one's place must not reuse its folders.
        self._folder = "%s-%d" % (self._folder, isolated_os.getpid())
        while True:
            request = self._next_request()
            if "order" in request:
                self._answer(request)

    def _next_request(self) -> Request:
        while b"\n" not in self._unread:
            part = self._peer.recv(1 << 16)
            if not part:
                isolated_os.exit(0)
            self._unread += part
        line, _newline, self._unread = self._unread.partition(b"\n")
        request: Request = isolated_os.loads(line.decode())
        return request

    def _answer(self, request: Request) -> None:
        self._runs += 1
        request["tmp"] = "%s/%d" % (self._folder, self._runs)
        _empty(request["events"], b"r %d\n" % isolated_os.getpid())
        _empty(request["output"])
        self._child.settle(request["output"])
        self._child.prepare(request)
        os.makedirs(request["tmp"], 0o700)
        # A word right behind the request can only take it back.
        ended = CALLED_OFF if self._unread else self._run(request)
        events = _content(request["events"])
        reply: Reply = {"ended": ended, "events": len(events), "id": request["id"]}
        if ended["signal"] or ended["code"] or ended["cut"]:
            reply["output"] = _tail(request["output"])
        _send(self._peer, reply, events)
        _remove(request["tmp"])

    def _run(self, request: Request) -> Ended:
        if request.get("trace"):
            # Here, and not in every child again.
            from flakehound_inside.observe.calls import plugin  # noqa: F401
        pid = isolated_os.fork()
        if pid == 0:
            # Held open by what a test leaves behind, it would keep a dead session looking alive.
            isolated_os.close(self._peer.detach())
            die_with_parent()
            self._child.run_forked(request, self._signals)
        return supervise(pid, _limits_above(request), self._peer, reaper=True)


def _limits_above(request: Request) -> Request:
    # The child limits its own branches; this process steps in only when the child cannot.
    test_limit_s = request.get("test_limit_s")
    if not request.get("branches") or not test_limit_s:
        return request
    return {**request, "test_limit_s": test_limit_s * 1.5 + 2.0}


def _send(peer: socket.socket, message: Mapping[str, object], payload: bytes = b"") -> None:
    try:
        peer.sendall(isolated_os.dumps(message).encode() + b"\n" + payload)
    except OSError:
        isolated_os.exit(0)  # nobody is left to answer


def _empty(path: str, first_line: bytes = b"") -> None:
    file = isolated_os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        isolated_os.write(file, first_line)
    finally:
        isolated_os.close(file)


def _content(path: str) -> bytes:
    try:
        file = isolated_os.open(path, os.O_RDONLY)
    except OSError:  # a test removed it
        return b""
    try:
        return b"".join(iter(lambda: isolated_os.read(file, 1 << 20), b""))
    finally:
        isolated_os.close(file)


def _tail(path: str) -> str:
    try:
        file = isolated_os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        size = isolated_os.fstat(file).st_size
        return isolated_os.pread(file, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
    finally:
        isolated_os.close(file)


def _remove(folder: str) -> None:
    try:
        isolated_os.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
