"""The event log: one line per event, written at once, in a file that the parent process reads.

    r <process>                  the slot with this process id takes the request
    s <place> <clock>            the test at this place of the order starts
    f <place> <json>             why it failed
    d <json>                     functions, each with the number by which later lines refer to it
    c <place> <json>             what it called
    m <place> <json>             its measured features, if requested
    l <place> <json>             what it left changed, if requested
    y <clock> <threads> <children> the counts from now on; written by the parent process
    e <place> <letter> <seconds> it ended with this outcome
    u <json>                     why the process cannot be forked for the branches
    B <branch>                   the process is forked for this branch
    b <branch> <json>            how the forked process ended
    x <json>                     the run ended early, and why
A test that started and has no end line ended its process.
"""

from __future__ import annotations

import os

from flakehound_inside.isolated_os import fcntl, isolated_os, resource

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)
_FIRST_AFTER_STANDARD_STREAMS = 3


class ResultsLost(OSError):
    """The log cannot be written: the disk is full, or a limit on file sizes cannot be lifted."""


class EventLog:
    """An append-only log that still works after a test has closed every descriptor."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._open()
        self._owner = isolated_os.getpid()

    def _open(self) -> None:
        self._fd = isolated_os.open(self._path, _FLAGS, 0o600)
        if self._fd < _FIRST_AFTER_STANDARD_STREAMS and fcntl is not None:
            # A test closed the standard streams; what it prints must not end up here.
            low, self._fd = self._fd, -1
            try:
                self._fd = isolated_os.control(low, fcntl.F_DUPFD_CLOEXEC, _FIRST_AFTER_STANDARD_STREAMS)
            finally:
                isolated_os.close(low)
        status = isolated_os.fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)

    def is_of_this_process(self) -> bool:
        """Whether this process may write; False in processes that a test forked."""
        return isolated_os.getpid() == self._owner

    def adopt(self) -> None:
        """Let this forked process write too; processes that a test forks itself write nothing."""
        self._owner = isolated_os.getpid()

    def size(self) -> int:
        """The number of bytes written so far, by any process."""
        try:
            return isolated_os.stat(self._path).st_size
        except OSError:  # a test removed it
            return 0

    def content_since(self, begin: int) -> bytes:
        """The content that was written since the log had this size."""
        try:
            file = isolated_os.open(self._path, os.O_RDONLY)
        except OSError:
            return b""
        try:
            return isolated_os.pread(file, 1 << 24, begin)
        finally:
            isolated_os.close(file)

    def write(self, line: str) -> None:
        """Append one line; does nothing in processes that a test forked."""
        if not self.is_of_this_process():
            return
        payload = (line + "\n").encode("utf-8", "backslashreplace")
        try:
            self._append(payload)
        except OSError:
            self._append_without_limits(b"\n" + payload)  # the failed attempt may have left half a line

    def _append_without_limits(self, payload: bytes) -> None:
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
        # After os.closerange the descriptor may already belong to a file of the test.
        try:
            status = isolated_os.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity


def last_outcome_in(events: bytes) -> str:
    """F if the last test failed or ended its process, P if it passed, else empty."""
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
    """Within the block, limits on file sizes and open files that a test has set are lifted."""

    def __enter__(self) -> None:
        self._saved: list[tuple[int, tuple[int, int]]] = []
        for kind in () if resource is None else (resource.RLIMIT_FSIZE, resource.RLIMIT_NOFILE):
            soft, hard = isolated_os.limit_of(kind)
            self._saved.append((kind, (soft, hard)))
            isolated_os.set_limit(kind, (hard, hard))

    def __exit__(self, *_error: object) -> None:
        for kind, limits in self._saved:
            isolated_os.set_limit(kind, limits)
