"""Serve runs: one process that never runs a test keeps slots, each slot forks a child per request."""

import os
import signal
import socket
import sys

from flakehound_inside.real import real
from flakehound_inside.supervise import supervise

_IGNORED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_TAIL = 16384  # bytes of output worth keeping of a process that died
_PR_SET_CHILD_SUBREAPER = 36


class Server:
    """The collected session. Tests run two forks below it, so that no test can take it down easily."""

    def __init__(self, settings, child):
        self._child = child
        self._control = socket.socket(fileno=settings["control"])
        self._sockets = [socket.socket(fileno=number) for number in settings["slots"]]
        self._folder = settings["folder"]
        self._slots = {}  # process id -> slot number
        self._signals = {number: real.handler_of(number) for number in (*_IGNORED, signal.SIGUSR2)}

    def serve(self):
        """Keep every slot alive until the controller hangs up."""
        for number in _IGNORED:
            real.set_handler(number, signal.SIG_IGN)
        for slot in range(len(self._sockets)):
            self._fork_slot(slot)
        self._control.sendall(b'{"serving": true}\n')
        poll = real.poll()
        poll.register(self._control.fileno(), 1)
        while not poll.poll(50):
            self._revive()
        for pid in self._slots:
            _kill(pid)

    def _fork_slot(self, slot):
        pid = real.fork()
        if pid == 0:
            try:
                self._control.close()
                Slot(self._sockets[slot], "%s/%d" % (self._folder, slot), self._child, self._signals).serve()
            finally:
                real.exit(0)
        self._slots[pid] = slot

    def _revive(self):
        while self._slots:
            pid, status, _usage = real.wait4(-1, os.WNOHANG)
            if not pid:
                return
            slot = self._slots.pop(pid, None)
            if slot is not None:
                died = {"slot_died": os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0}
                _send(self._sockets[slot], died)
                self._fork_slot(slot)


class Slot:
    """Runs one request at a time, each in a child of its own."""

    def __init__(self, peer, folder, child, signals):
        self._peer = peer
        self._folder = folder
        self._child = child
        self._signals = signals
        self._runs = 0

    def serve(self):
        """Answer requests until the controller hangs up."""
        real.setsid()
        become_reaper()
        # A slot that took a killed one's place must not reuse its folders.
        self._folder = "%s-%d" % (self._folder, real.getpid())
        os.makedirs(self._folder)
        for line in self._peer.makefile("rb"):
            request = real.loads(line.decode())
            if "order" in request:
                self._answer(request)

    def _answer(self, request):
        self._runs += 1
        request["tmp"] = "%s/%d" % (self._folder, self._runs)
        _empty(request["events"])
        _empty(request["output"])
        real.mkdir(request["tmp"], 0o700)
        pid = real.fork()
        if pid == 0:
            self._child.run_forked(request, self._signals)
        ended = supervise(pid, _limits_above(request), self._peer, reaper=True)
        events = _content(request["events"])
        reply = {"ended": ended, "events": len(events)}
        if ended["signal"] or ended["code"] or ended["cut"]:
            reply["output"] = _tail(request["output"])
        _send(self._peer, reply, events)
        _remove(request["tmp"])


def _limits_above(request):
    # The child limits its own branches; this process steps in only when the child cannot.
    if not request.get("branches") or not request.get("test_limit_s"):
        return request
    return dict(request, test_limit_s=request["test_limit_s"] * 1.5 + 2.0)


def become_reaper():
    """Let orphans of a test come to this process, which ends them; Linux only, elsewhere a no-op."""
    if not sys.platform.startswith("linux"):
        return
    try:
        import ctypes

        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        return


def _send(peer, message, payload=b""):
    try:
        peer.sendall(real.dumps(message).encode() + b"\n" + payload)
    except OSError:
        real.exit(0)  # nobody is left to answer


def _empty(path):
    file = real.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    real.close(file)


def _content(path):
    parts = []
    file = real.open(path, os.O_RDONLY)
    try:
        while True:
            part = real.read(file, 1 << 20)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        real.close(file)


def _tail(path):
    file = real.open(path, os.O_RDONLY)
    try:
        size = real.fstat(file).st_size
        return real.pread(file, _TAIL, max(0, size - _TAIL)).decode("utf-8", "replace")
    finally:
        real.close(file)


def _remove(folder):
    try:
        real.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)


def _kill(pid):
    try:
        real.kill(pid, signal.SIGKILL)
    except OSError:
        return
