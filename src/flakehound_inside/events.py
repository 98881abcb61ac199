"""One line per event, flushed, in a file that the process above reads.

    s <place> <clock>            the test at this place of the order starts
    f <place> <json>             why it failed
    e <place> <letter> <seconds> it ended
    B <branch>                   the process copies itself for this branch
    b <branch> <json>            how that copy ended
    x <json>                     the run ended early, and why
A started test without an end is one that took its process with it.
"""

import os

from flakehound_inside.real import real

_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_CLOEXEC", 0)


class EventLog:
    """Append-only log that outlives a test closing every descriptor."""

    def __init__(self, path):
        self._path = path
        self._open()
        self._owner = real.getpid()

    def _open(self):
        self._fd = real.open(self._path, _FLAGS, 0o600)
        status = real.fstat(self._fd)
        self._identity = (status.st_dev, status.st_ino)

    def adopt(self):
        """Let a copy of the process write too; without this a test's own fork stays silent."""
        self._owner = real.getpid()

    def write(self, line):
        """Append one line; silent in processes that a test forked off."""
        if real.getpid() != self._owner:
            return
        if not self._is_ours():
            self._open()
        payload = (line + "\n").encode("utf-8", "backslashreplace")
        while payload:
            payload = payload[real.write(self._fd, payload) :]

    def _is_ours(self):
        # After os.closerange the number may already belong to a file of the test.
        try:
            status = real.fstat(self._fd)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) == self._identity
