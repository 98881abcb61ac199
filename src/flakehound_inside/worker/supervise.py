"""Waits for a forked process within its limits, and ends all processes that it leaves behind."""

from __future__ import annotations

import os
import signal
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os
from flakehound_inside.proc_filesystem import own_children, read_file

if TYPE_CHECKING:
    import resource
    import socket
    from typing import Collection

    from flakehound_inside.message_types import ProcessEnd, SupervisedRun
    from flakehound_inside.observe.features.sampling import ProcessSampler

_POLL_INTERVAL_MS = 100
_STACK_DUMP_S = 0.2  # for faulthandler to write the stacks of a hanging test
_SECONDS_PER_NANOSECOND = 1e-9
_MAX_KILL_S = 5.0  # a process that survives SIGKILL for longer hangs in the kernel

CANCELLED: ProcessEnd = {
    "code": None,
    "signal": None,
    "cut": "cancelled",
    "wall_s": 0.0,
    "cpu_s": 0.0,
    "queued_s": 0.0,
    "max_rss_bytes": 0,
}


def supervise(pid: int, run: SupervisedRun, peer: socket.socket | None, is_reaper: bool = False) -> ProcessEnd:
    """Wait for the process `pid` and report how it ended: code or signal, limit hit, resources used.

    `peer` is the socket to the engine, or None; a message from it, or its closing, cancels the run.
    With `is_reaper`, every other child of this process is ended, too; so it must have started no other processes.
    """
    started_s = isolated_os.clock()
    waiter = _Waiter(pid, peer)
    current_test = _CurrentTest(run)
    sampler = _sampler(pid, run)
    cut = ""
    try:
        while True:
            ended = waiter.wait(_POLL_INTERVAL_MS if sampler is None else sampler.interval_ms)
            if ended is not None:
                break
            if sampler is not None:
                sampler.sample()
            cut = _limit_hit(started_s, run, current_test) or (waiter.is_cancelled and "cancelled") or ""
            if cut:
                ended = _kill(pid, waiter, dump_stacks=cut != "cancelled")
                break
    finally:
        waiter.close()
    _signal_group(pid, signal.SIGKILL)
    if is_reaper:
        end_children()
    status, usage = ended
    return _summary(status, usage, cut, isolated_os.clock() - started_s, waiter.queued_s)


def _sampler(pid: int, run: SupervisedRun) -> ProcessSampler | None:
    if not run.get("measure"):
        return None
    from flakehound_inside.observe.features.sampling import ProcessSampler

    return ProcessSampler(pid, run["events"])


def _summary(
    status: int, usage: resource.struct_rusage | type[_NoUsage], cut: str, wall_s: float, queued_s: float
) -> ProcessEnd:
    return {
        "code": os.WEXITSTATUS(status) if os.WIFEXITED(status) else None,
        "signal": os.WTERMSIG(status) if os.WIFSIGNALED(status) else None,
        "cut": cut,
        "wall_s": wall_s,
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "queued_s": queued_s,
        "max_rss_bytes": usage.ru_maxrss * 1024,
    }


def _limit_hit(started_s: float, run: SupervisedRun, current_test: _CurrentTest) -> str:
    now = isolated_os.clock()
    run_limit_s, test_limit_s = run.get("run_limit_s"), run.get("test_limit_s")
    if run_limit_s and now - started_s > run_limit_s:
        return "run limit"
    if test_limit_s and now - current_test.started_s(now) > test_limit_s:
        return "test limit"
    return ""


def _kill(pid: int, waiter: _Waiter, dump_stacks: bool) -> tuple[int, resource.struct_rusage | type[_NoUsage]]:
    if dump_stacks:
        _signal(pid, signal.SIGUSR2)  # faulthandler prints every stack and the process continues
        ended = waiter.wait(int(_STACK_DUMP_S * 1000), ignore_cancel=True)
        if ended is not None:
            return ended
    _signal_group(pid, signal.SIGKILL)
    _signal(pid, signal.SIGKILL)
    while True:
        ended = waiter.wait(_POLL_INTERVAL_MS)
        if ended is not None:
            return ended


def end_children(spared: Collection[int] = ()) -> None:
    """End and reap every child of this process except the spared ones, including adopted orphans."""
    deadline = isolated_os.clock() + _MAX_KILL_S
    while isolated_os.clock() < deadline:
        remaining = [pid for pid in own_children() if pid not in spared]
        if not remaining:
            return
        for pid in remaining:
            _signal(pid, signal.SIGKILL)
        for pid in remaining:
            _reap(pid)
        isolated_os.sleep(0.001)


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


class _CurrentTest:
    """When the current test started, read from the event log."""

    def __init__(self, run: SupervisedRun) -> None:
        self._path = run["events"]
        self._is_limited = bool(run.get("test_limit_s"))
        self._offset = 0
        self._started_s = isolated_os.clock() + run.get("collection_limit_s", 0.0)
        self._tail = b""

    def started_s(self, now: float) -> float:
        if not self._is_limited:
            return now
        for line in self._new_lines():
            if line[:2] == b"s ":
                self._started_s = _clock_value(line, now)
            elif line[:2] in (b"e ", b"B "):
                self._started_s = now
        return self._started_s

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


def _clock_value(line: bytes, now: float) -> float:
    try:
        return min(float(line.split()[2]), now)
    except (ValueError, IndexError):  # some tests write to every open descriptor
        return now


class _NoUsage:
    ru_utime = ru_stime = ru_maxrss = 0


class _Waiter:
    """Waits for the end of a process, with a pidfd if the system has one, else by polling."""

    def __init__(self, pid: int, peer: socket.socket | None) -> None:
        self._pid = pid
        self._peer = peer
        self.is_cancelled = False
        self.queued_s = 0.0  # time that the process waited for a core; 0 if the system does not report it
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
        self._sleep_ms = 1

    def wait(
        self, milliseconds: int, ignore_cancel: bool = False
    ) -> tuple[int, resource.struct_rusage | type[_NoUsage]] | None:
        """(status, usage) if the process has ended, None after `milliseconds` or a message from the peer."""
        waited = 0
        while True:
            self._read_queued()  # also possible for an ended process, until `wait4`
            try:
                pid, status, usage = isolated_os.wait4(self._pid, os.WNOHANG)
            except OSError:  # with SIGCHLD ignored, the system does not keep the status of children
                return 0, _NoUsage
            if pid:
                return status, usage
            if waited >= milliseconds or (self.is_cancelled and not ignore_cancel):
                return None
            step = milliseconds - waited if self._pidfd is not None else min(self._sleep_ms, milliseconds)
            self._sleep_ms = min(self._sleep_ms * 2, 20)
            ready = self._poll.poll(step)
            if self._peer is not None and any(fd == self._peer.fileno() for fd, _event in ready):
                self.is_cancelled = True
                self._poll.unregister(self._peer.fileno())
                self._peer = None
                return None
            waited += step if not ready else 0

    def _read_queued(self) -> None:
        try:
            self.queued_s = int(read_file("/proc/%d/schedstat" % self._pid).split()[1]) * _SECONDS_PER_NANOSECOND
        except (OSError, ValueError, IndexError):
            pass

    def close(self) -> None:
        if self._pidfd is not None:
            isolated_os.close(self._pidfd)
