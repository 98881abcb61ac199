"""Note which lasting files a plain run writes, and keep each as it was before the first write.

Runs that share such files are not independent: the next one finds what the last one left. Seen through
Python's audit events, so also inside libraries; a child process's own writes are not seen.
"""

import os
import shutil
import sys

from flakehound_inside.real import real

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NAMED_FIRST = frozenset(
    (
        "os.remove",
        "os.rename",
        "os.mkdir",
        "os.rmdir",
        "os.truncate",
        "os.symlink",
        "shutil.rmtree",
        "sqlite3.connect",
    )
)
_PASSED_OVER = (
    "/__pycache__",
    "/.pytest_cache",
    "/.hypothesis",
    "/.cache/",
    "/.mypy_cache",
    "/.coverage",
    "/.git/",
)


class WriteWatch:
    """Writes one line per lasting file: phase, saved copy or nothing, path."""

    def __init__(self, folder, ours):
        self._folder = folder
        self._log = os.open(os.path.join(folder, "writes"), os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self._ours = os.path.realpath(ours) + os.sep
        self._seen = set()
        self._busy = False
        self.phase = "collection"

    def start(self):
        """Watch from now on; Python knows no way to stop."""
        sys.addaudithook(self._hear)

    def _hear(self, event, arguments):
        if event == "open":
            path, mode, flags = arguments
            if not _is_writing(mode, flags):
                return
        elif event in _NAMED_FIRST:
            path = arguments[0]
        else:
            return
        if not self._busy and isinstance(path, (str, bytes, os.PathLike)):
            self._busy = True
            try:
                self._note(os.path.abspath(os.fsdecode(path)))
            except (OSError, ValueError):
                pass
            finally:
                self._busy = False

    def _note(self, path):
        if path in self._seen or path.startswith(("/dev/", "/proc/")):
            return
        self._seen.add(path)
        if os.path.realpath(path).startswith(self._ours) or any(part in path for part in _PASSED_OVER):
            return
        saved = ""
        if os.path.isfile(path):
            saved = os.path.join(self._folder, "saved-%d" % len(self._seen))
            shutil.copy2(path, saved)
        elif os.path.isdir(path):
            saved = "folder"
        line = real.dumps([self.phase, saved, path]) + "\n"
        real.write(self._log, line.encode("utf-8", "backslashreplace"))


def _is_writing(mode, flags):
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & _WRITING)
