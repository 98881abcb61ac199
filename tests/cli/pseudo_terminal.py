"""A pseudo terminal in place of standard output and error."""

from __future__ import annotations

import os
import pty
import sys
from contextlib import contextmanager, suppress


class Terminal:
    """A pseudo terminal that replaces standard output and error, and records what it receives."""

    def __init__(self):
        self._reading, writing = pty.openpty()
        self._stream = os.fdopen(writing, "w", buffering=1)

    @contextmanager
    def attached(self):
        # Not in a fixture: pytest's own capturing replaces the streams again before the test starts.
        before = sys.stdout, sys.stderr
        sys.stdout = sys.stderr = self._stream
        try:
            yield
        finally:
            sys.stdout, sys.stderr = before

    def received(self):
        self._stream.close()
        parts = []
        with suppress(OSError):  # EIO: the other end is closed
            while part := os.read(self._reading, 65536):
                parts.append(part)
        return b"".join(parts).decode().replace("\r\n", "\n")

    def close(self):
        self._stream.close()
        os.close(self._reading)
