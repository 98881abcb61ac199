"""Wait for a forked process, within its limits, and leave nothing of it behind."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    import resource
    import socket
    from typing import Collection

    from flakehound_inside.message_types import Ended, Watched
    from flakehound_inside.observe.features.sampling import Sampler

_TICK_MS = 100
_STACK_TIME_S = 0.2  # for faulthandler to write where a hanging test hangs
_NANO = 1e-9
_SWEEP_S = 5.0  # a process that survives SIGKILL for so long hangs in the kernel

CALLED_OFF: Ended = {
    "code": None,
    "signal": None,
    "cut": "cancelled",
    "wall_s": 0.0,
    "cpu_s": 0.0,
    "queued_s": 0.0,
    "max_rss_bytes": 0,
}


def supervise(pid: int, limits: Watched, peer: socket.socket | None, reaper: bool = False) -> Ended:
    """How the process `pid` ended: code or signal, limit hit, what it used.

    `peer` is the socket to whoever asked, or None; a word from it, or its death, ends the run.
    A `reaper` also ends every other child it has; only a process that starts nothing else may be one.
    """
    began = isolated_os.clock()
    waiter = _Waiter(pid, peer)
    watch = _TestWatch(limits)
    sampler = _sampler(pid, limits)
    cut = ""
    try:
        while True:
            ended = waiter.wait(_TICK_MS if sampler is None else sampler.tick_ms)
            if ended is not None:
                break
            if sampler is not None:
                sampler.look()
            cut = _limit_hit(began, limits, watch) or (waiter.called_off and "cancelled") or ""
            if cut:
                ended = _put_down(pid, waiter, explain=cut != "cancelled")
                break
    finally:
        waiter.close()
    _signal_group(pid, signal.SIGKILL)
    if reaper:
        end_children()
    status, usage = ended
    return _summary(status, usage, cut, isolated_os.clock() - began, waiter.queued_s)


def _sampler(pid: int, limits: Watched) -> Sampler | None:
    if not limits.get("measure"):
        return None
    from flakehound_inside.observe.features.sampling import Sampler

    return Sampler(pid, limits["events"])


def _summary(
    status: int, usage: resource.struct_rusage | type[_Nothing], cut: str, wall_s: float, queued_s: float
) -> Ended:
    return {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "cut": cut,
        "wall_s": wall_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "queued_s": queued_s,
        "max_rss_bytes": usage.ru_maxrss * 1024,
    }


def _limit_hit(began: float, limits: Watched, watch: _TestWatch) -> str:
    now = isolated_os.clock()
    run_limit_s, test_limit_s = limits.get("run_limit_s"), limits.get("test_limit_s")
    if run_limit_s and now - began > run_limit_s:
        return "run limit"
    if test_limit_s and now - watch.test_began(now) > test_limit_s:
        return "test limit"
    return ""


def _put_down(pid: int, waiter: _Waiter, explain: bool) -> tuple[int, resource.struct_rusage | type[_Nothing]]:
    if explain:
        _signal(pid, signal.SIGUSR2)  # faulthandler prints every stack and lets the process go on
        ended = waiter.wait(int(_STACK_TIME_S * 1000), once=True)
        if ended is not None:
            return ended
    _signal_group(pid, signal.SIGKILL)
    _signal(pid, signal.SIGKILL)
    while True:
        ended = waiter.wait(_TICK_MS)
        if ended is not None:
            return ended


def end_children(spared: Collection[int] = ()) -> None:
    """End and reap every child of this process but the spared; orphans of a test come to its reaper."""
    deadline = isolated_os.clock() + _SWEEP_S
    while isolated_os.clock() < deadline:
        doomed = [pid for pid in children() if pid not in spared]
        if not doomed:
            return
        for pid in doomed:
            _signal(pid, signal.SIGKILL)
        for pid in doomed:
            _reap(pid)
        isolated_os.sleep(0.001)


def children() -> list[int]:
    """The processes that this one started, or that came to it as orphans; empty where the system does not tell."""
    me = isolated_os.getpid()
    try:
        return [int(number) for number in read_file("/proc/%d/task/%d/children" % (me, me)).split()]
    except OSError:
        return [pid for pid in _processes() if _parent_of(pid) == me]


def _processes() -> list[int]:
    try:
        return [int(name) for name in isolated_os.listdir("/proc") if name.isdigit()]
    except OSError:
        return []


def _parent_of(pid: int) -> int:
    try:
        return int(read_file("/proc/%d/stat" % pid).rpartition(b")")[2].split()[1])
    except (OSError, IndexError):
        return 0


def read_file(path: str) -> bytes:
    """A small file's content, by functions that no test can mock."""
    file = isolated_os.open(path, os.O_RDONLY)
    try:
        return isolated_os.read(file, 1 << 20)
    finally:
        isolated_os.close(file)


def _reap(pid: int) -> None:
    try:
        isolated_os.wait4(pid, os.WNOHANG)
    except OSError:
        pass


def _signal(pid: int, number: int) -> None:
    try:
        isolated_os.kill(pid, number)
    except OSError:
        pass


def _signal_group(pid: int, number: int) -> None:
    try:
        isolated_os.killpg(pid, number)
    except OSError:
        pass


class _TestWatch:
    """When the test that runs now began, read from the event log."""

    def __init__(self, limits: Watched) -> None:
        self._path = limits["events"]
        self._limited = bool(limits.get("test_limit_s"))
        self._offset = 0
        self._began = isolated_os.clock() + limits.get("collection_limit_s", 0.0)
        self._tail = b""

    def test_began(self, now: float) -> float:
        if not self._limited:
            return now
        for line in self._new_lines():
            if line[:2] == b"s ":
                self._began = _clock_in(line, now)
            elif line[:2] in (b"e ", b"B "):
                self._began = now
        return self._began

    def _new_lines(self) -> list[bytes]:
        try:
            file = isolated_os.open(self._path, os.O_RDONLY)
        except OSError:
            return []
        try:
            chunk = isolated_os.pread(file, 1 << 24, self._offset)
        finally:
            isolated_os.close(file)
        self._offset += len(chunk)
        lines = (self._tail + chunk).split(b"\n")
        self._tail = lines.pop()
        return lines


def _clock_in(line: bytes, now: float) -> float:
    try:
        return min(float(line.split()[2]), now)
    except (ValueError, IndexError):  # some tests write to every descriptor they find
        return now


class _Nothing:
    ru_utime = ru_stime = ru_maxrss = 0


class _Waiter:
    """Notices the end of a process at once where the system can tell, by asking again where not."""

    def __init__(self, pid: int, peer: socket.socket | None) -> None:
        self._pid = pid
        self._peer = peer
        self.called_off = False
        self.queued_s = 0.0  # that the process waited for a core so far; stays 0 where the system does not tell
        self._pidfd: int | None = None
        self._poll = isolated_os.poll()
        if isolated_os.pidfd_open is not None:
            try:
                self._pidfd = isolated_os.pidfd_open(pid)
                self._poll.register(self._pidfd, 1)
            except OSError:
                self._pidfd = None
        if peer is not None:
            self._poll.register(peer.fileno(), 1)
        self._nap_ms = 1

    def wait(
        self, milliseconds: int, once: bool = False
    ) -> tuple[int, resource.struct_rusage | type[_Nothing]] | None:
        """(status, usage) when the process has ended, None after `milliseconds` or a word from the peer."""
        waited = 0
        while True:
            self._read_queued()  # of an ended process, too, until it is waited for
            try:
                pid, status, usage = isolated_os.wait4(self._pid, os.WNOHANG)
            except OSError:  # a process that ignores SIGCHLD is not told how its children end
                return 0, _Nothing
            if pid:
                return status, usage
            if waited >= milliseconds or (self.called_off and not once):
                return None
            step = milliseconds - waited if self._pidfd is not None else min(self._nap_ms, milliseconds)
            self._nap_ms = min(self._nap_ms * 2, 20)
            ready = self._poll.poll(step)
            if self._peer is not None and any(fd == self._peer.fileno() for fd, _event in ready):
                self.called_off = True
                self._poll.unregister(self._peer.fileno())
                self._peer = None
                return None
            waited += step if not ready else 0

    def _read_queued(self) -> None:
        try:
            self.queued_s = int(read_file("/proc/%d/schedstat" % self._pid).split()[1]) * _NANO
        except (OSError, ValueError, IndexError):
            pass

    def close(self) -> None:
        if self._pidfd is not None:
            isolated_os.close(self._pidfd)
