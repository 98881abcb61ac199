"""Serves runs: one process, which runs no test itself, forks the slots; each slot forks a child per request."""

from __future__ import annotations

import os
import signal
import socket
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import own_children
from flakehound_inside.worker.idle_executors import idle_executors, restart
from flakehound_inside.worker.reaper import become_reaper, die_with_parent
from flakehound_inside.worker.supervise import CANCELLED, end_children, supervise

if TYPE_CHECKING:
    from typing import Mapping, NoReturn

    from flakehound_inside.message_types import (
        ProcessEnd,
        PytestSessionSettings,
        RunRequest,
        SignalHandler,
        SlotReply,
    )
    from flakehound_inside.worker.child import RequestRunner

_SIGNAL_HANDLERS = {
    int(signal.SIGTERM): int(signal.SIG_IGN),
    int(signal.SIGINT): int(signal.SIG_IGN),
    int(signal.SIGHUP): int(signal.SIG_IGN),
    int(signal.SIGCHLD): int(signal.SIG_DFL),  # a suite that ignores it would hide how our children end
}
_OUTPUT_TAIL_BYTES = 16384  # reported of a process that ended with an error


class SlotServer:
    """The collected session; tests run in grandchildren of its process, so that a test cannot easily end it."""

    def __init__(self, settings: PytestSessionSettings, runner: RequestRunner) -> None:
        self._runner = runner
        self._control = socket.socket(fileno=settings["control"])
        self._sockets = [socket.socket(fileno=number) for number in settings["slots"]]
        self._folder = settings["folder"]
        self._slots: dict[int, int] = {}  # slot numbers by process id
        self._suite_processes = set(own_children())  # started during import; they live as long as the session
        self._executors = idle_executors()  # their threads do not exist in slots
        self._signals = {number: isolated_os.handler_of(number) for number in _SIGNAL_HANDLERS}

    def serve(self) -> None:
        """Keep all slots running until the engine closes the control socket."""
        for number, handler in _SIGNAL_HANDLERS.items():
            isolated_os.set_handler(number, handler)
        become_reaper()  # for the orphans of a slot that a test killed
        for slot in range(len(self._sockets)):
            self._fork_slot(slot)
        poll = isolated_os.poll()
        poll.register(self._control.fileno(), 1)
        while not poll.poll(50):
            self._replace_dead_slots()
        end_children(spared=self._suite_processes)

    def _fork_slot(self, slot: int) -> None:
        pid = isolated_os.fork()
        if pid == 0:
            try:
                restart(self._executors)
                self._control.close()
                for number, other in enumerate(self._sockets):
                    if number != slot:
                        other.close()
                Slot(self._sockets[slot], "%s/%d" % (self._folder, slot), self._runner, self._signals).serve()
            finally:
                isolated_os.exit(0)
        self._slots[pid] = slot

    def _replace_dead_slots(self) -> None:
        while self._slots:
            pid, status, _usage = isolated_os.wait4(-1, os.WNOHANG)
            if not pid:
                return
            slot = self._slots.pop(pid, None)
            if slot is not None:
                end_children(spared=self._suite_processes.union(self._slots))
                message = {"slot_died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0, "pid": pid}
                _send(self._sockets[slot], message)
                self._fork_slot(slot)


class Slot:
    """Runs one request at a time, each in a child of its own."""

    def __init__(
        self, peer: socket.socket, folder: str, runner: RequestRunner, signals: Mapping[int, SignalHandler]
    ) -> None:
        self._peer = peer
        self._number = os.path.basename(folder)
        self._folder = folder
        self._runner = runner
        self._signals = signals
        self._runs = 0
        self._unread_input = b""

    def serve(self) -> NoReturn:
        """Answer requests until the engine closes the socket."""
        isolated_os.setsid()
        become_reaper()
        # A slot that replaces a killed one must not reuse its folders.
        self._folder = "%s-%d" % (self._folder, isolated_os.getpid())
        while True:
            request = self._next_request()
            if "order" in request:
                self._answer(request)

    def _next_request(self) -> RunRequest:
        while b"\n" not in self._unread_input:
            part = self._peer.recv(1 << 16)
            if not part:
                isolated_os.exit(0)
            self._unread_input += part
        line, _newline, self._unread_input = self._unread_input.partition(b"\n")
        request: RunRequest = isolated_os.loads(line.decode())
        return request

    def _answer(self, request: RunRequest) -> None:
        self._runs += 1
        request["tmp"] = "%s/%d" % (self._folder, self._runs)
        request["slot"] = self._number
        _truncate(request["events"], b"r %d\n" % isolated_os.getpid())
        _truncate(request["output"])
        self._runner.redirect_output(request["output"])
        self._runner.prepare(request)
        os.makedirs(request["tmp"], 0o700)
        # A message that follows the request can only cancel it.
        process_end = CANCELLED if self._unread_input else self._run(request)
        events = _read(request["events"])
        reply: SlotReply = {"ended": process_end, "events": len(events), "id": request["id"]}
        if process_end["signal"] or process_end["code"] or process_end["cut"]:
            reply["output"] = _output_tail(request["output"])
        _send(self._peer, reply, events)
        _remove(request["tmp"])

    def _run(self, request: RunRequest) -> ProcessEnd:
        if request.get("trace"):
            # Imported once here instead of in every child.
            from flakehound_inside.observe.calls import plugin  # noqa: F401
        pid = isolated_os.fork()
        if pid == 0:
            # A process that a test leaves behind would keep it open, and the engine would not notice the end.
            isolated_os.close(self._peer.detach())
            die_with_parent()
            self._runner.run_forked(request, self._signals)
        return supervise(pid, _limits_for_slot(request), self._peer, is_reaper=True)


def _limits_for_slot(request: RunRequest) -> RunRequest:
    # The child enforces the limits of its branches; this process does so only when the child cannot.
    test_limit_s = request.get("test_limit_s")
    if not request.get("branches") or not test_limit_s:
        return request
    return {**request, "test_limit_s": test_limit_s * 1.5 + 2.0}


def _send(peer: socket.socket, message: Mapping[str, object], payload: bytes = b"") -> None:
    try:
        peer.sendall(isolated_os.dumps(message).encode() + b"\n" + payload)
    except OSError:
        isolated_os.exit(0)  # the engine is gone


def _truncate(path: str, first_line: bytes = b"") -> None:
    file = isolated_os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        isolated_os.write(file, first_line)
    finally:
        isolated_os.close(file)


def _read(path: str) -> bytes:
    try:
        file = isolated_os.open(path, os.O_RDONLY)
    except OSError:  # a test removed it
        return b""
    try:
        return b"".join(iter(lambda: isolated_os.read(file, 1 << 20), b""))
    finally:
        isolated_os.close(file)


def _output_tail(path: str) -> str:
    try:
        file = isolated_os.open(path, os.O_RDONLY)
    except OSError:
        return ""
    try:
        size = isolated_os.fstat(file).st_size
        tail = isolated_os.pread(file, _OUTPUT_TAIL_BYTES, max(0, size - _OUTPUT_TAIL_BYTES))
        return tail.decode("utf-8", "replace")
    finally:
        isolated_os.close(file)


def _remove(folder: str) -> None:
    try:
        isolated_os.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
