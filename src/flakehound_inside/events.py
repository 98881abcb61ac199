"""One line per event, flushed, in a file that the process above reads.

    r <process>                  the slot with this process id takes the request
    s <place> <clock>            the test at this place of the order starts
    f <place> <json>             why it failed
    d <json>                     functions, each with the number that stands for it from here on
    c <place> <json>             what it called
    m <place> <json>             what was measured of it, where that was asked for
    l <place> <json>             what it left changed, where that was asked for
    y <clock> <threads> <children> from now on it has so many; noted by the process above
    e <place> <letter> <seconds> it ended
    u <json>                     why the process cannot be copied for the branches
    B <branch>                   the process copies itself for this branch
    b <branch> <json>            how that copy ended
    x <json>                     the run ended early, and why
A started test without an end is one that took its process with it.
"""

from __future__ import annotations

import os

from flakehound_inside.isolated_os import fcntl, isolated_os, resource

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_FIRST_FREE = 3  # below are the standard streams


class ResultsLost(OSError):
    """The log cannot be written: the disk is full, or a limit on file sizes holds even for us."""


class EventLog:
    """Append-only log that outlives a test closing every descriptor."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open()
        self._owner = isolated_os.getpid()

    def _open(self) -> None:
        self._fd = isolated_os.open(self._path, _FLAGS, 0o600)
        if self._fd < _FIRST_FREE and fcntl is not None:
            # A test closed the standard streams; what it prints must not end up here.
            low, self._fd = self._fd, -1
            try:
                self._fd = isolated_os.control(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_FREE)
            finally:
                isolated_os.close(low)
        status = isolated_os.fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)

    def is_of_this_process(self) -> bool:
        """False in processes that a test forked off."""
        return isolated_os.getpid() == self._owner

    def adopt(self) -> None:
        """Let a copy of the process write too; without this a test's own fork stays silent."""
        self._owner = isolated_os.getpid()

    def size(self) -> int:
        """How much has been written so far, by any process."""
        try:
            return isolated_os.stat(self._path).st_size
        except OSError:  # a test removed it
            return 0

    def since(self, begin: int) -> bytes:
        """What has been written since it had that size."""
        try:
            file = isolated_os.open(self._path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            return isolated_os.pread(file, 1 << 24, begin)
        finally:
            isolated_os.close(file)

    def write(self, line: str) -> None:
        """Append one line; silent in processes that a test forked off."""
        if not self.is_of_this_process():
            return
        payload = (line + "\n").encode("utf-8", "backslashreplace")
        try:
            self._append(payload)
        except OSError:
            self._append_against_limits(b"\n" + payload)  # the failed attempt may have left half a line

    def _append_against_limits(self, payload: bytes) -> None:
        try:
            with _LiftedLimits():
                self._append(payload)
        except OSError as error:
            raise ResultsLost(*error.args)

    def _append(self, payload: bytes) -> None:
        if not self._is_ours():
            self._open()
        while payload:
            payload = payload[isolated_os.write(self._fd, payload) :]

    def _is_ours(self) -> bool:
        # After os.closerange the number may already belong to a file of the test.
        try:
            status = isolated_os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


def ended_with(events: bytes) -> str:
    """F when the test that ended last failed, or died; P when it passed, else nothing."""
    starts, letter = 0, ""
    for line in events.split(b"\n"):
        if line[:2] == b"s ":
            starts, letter = starts + 1, ""
        elif line[:2] == b"e ":
            letter = line.split()[2].decode("ascii", "replace") if len(line.split()) > 2 else ""
    if starts and not letter:
        return "F"
    return "F" if letter in ("F", "E") else "P" if letter in ("P", "x", "X") else ""


class _LiftedLimits:
    """For a moment, the limits that a test set on its process's files do not hold for ours."""

    def __enter__(self) -> None:
        self._kept: list[tuple[int, tuple[int, int]]] = []
        for kind in () if resource is None else (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
            soft, hard = isolated_os.limit_of(kind)
            self._kept.append((kind, (soft, hard)))
            isolated_os.set_limit(kind, (hard, hard))

    def __exit__(self, *_error: object) -> None:
        for kind, limits in self._kept:
            isolated_os.set_limit(kind, limits)
