"""Note which lasting files a plain run writes, and keep each as it was before the first write.

Runs that share such files are not independent: the next one finds what the last one left. Seen through
Python's audit events, so also inside libraries; a child process's own writes are not seen.
"""

from __future__ import annotations

import os
import shutil
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Any, Iterator

    _Places = tuple[tuple[int, int | None], ...]

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Event -> where its arguments name a path, and the folder's descriptor that the path starts from.
_MAKING: dict[str, _Places] = {
    "os.mkdir": ((0, 2),),
    "os.symlink": ((1, 2),),
    "os.link": ((1, 3),),
    "os.truncate": ((0, None),),
}
_TAKING: dict[str, _Places] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "shutil.rmtree": ((0, 1),),
}
PASSED_OVER = (
    "/__pycache__",
    "/.pytest_cache",
    "/pytest-cache-files-",
    "/.hypothesis",
    "/.cache/",
    "/.mypy_cache",
    "/.coverage",
    "/.git/",
)


class WriteWatch:
    """Writes one line per lasting file: phase, saved copy or nothing, path."""

    def __init__(self, folder: str, ours: str) -> None:
        self._folder = folder
        self._notes = os.path.join(folder, "writes")
        self._ours = os.path.realpath(ours) + os.sep
        self._seen: set[str] = set()
        self._busy = False
        self.phase = "collection"

    def start(self) -> None:
        """Watch from now on; Python knows no way to stop."""
        sys.addaudithook(self._hear)

    def _hear(self, event: str, arguments: tuple[Any, ...]) -> None:
        if not may_write(event):
            return
        if self._busy:
            return
        self._busy = True
        try:
            for path, last in paths_of(event, arguments):
                self._note(path, makes=last and event not in ("os.remove", "os.rmdir", "shutil.rmtree"))
        except (OSError, ValueError):
            pass
        finally:
            self._busy = False

    def _note(self, path: str, makes: bool) -> None:
        if makes and os.path.islink(path):
            path = os.path.realpath(path)
        if path in self._seen or path.startswith(("/dev/", "/proc/", "/sys/")):
            return
        if not makes and not os.path.lexists(path):
            return  # nothing is taken away
        if makes and not os.path.isdir(os.path.dirname(path)):
            return  # the attempt will fail; a later one may not
        self._seen.add(path)
        if os.path.realpath(path).startswith(self._ours) or any(part in path for part in PASSED_OVER):
            return
        saved = ""
        if os.path.isfile(path):
            saved = os.path.join(self._folder, "saved-%d" % len(self._seen))
            shutil.copy2(path, saved)
        elif os.path.isdir(path):
            saved = "folder"
        elif os.path.lexists(path):
            return  # a pipe or a socket: it can be neither kept nor put back
        append_note(self._notes, isolated_os.dumps([self.phase, saved, path]))


def append_note(file: str, line: str) -> None:
    """Add one line."""
    # Opened each time: a kept descriptor may be closed by a test, and its number be another file's by now.
    log = isolated_os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        isolated_os.write(log, (line + "\n").encode("utf-8", "backslashreplace"))
    finally:
        isolated_os.close(log)


def may_write(event: str) -> bool:
    """Whether an audit event can be about a file that is written."""
    return event in ("open", "sqlite3.connect") or event in _MAKING or event in _TAKING


def paths_of(event: str, arguments: tuple[Any, ...]) -> Iterator[tuple[str, bool]]:
    """The full paths that an event writes to; True beside the last, which the others make way for."""
    if event == "open":
        path, mode, flags = arguments
        if _is_writing(mode, flags) and _is_path(path):
            yield os.path.abspath(os.fsdecode(path)), True
    elif event == "sqlite3.connect":
        path = _database_file(arguments[0]) if _is_path(arguments[0]) else ""
        if path:
            yield os.path.abspath(path), True
    else:
        places = _MAKING.get(event) or _TAKING[event]
        for number, (place, start) in enumerate(places, 1):
            if _is_path(arguments[place]):
                folder = arguments[start] if start is not None and start < len(arguments) else None
                yield _full(os.fsdecode(arguments[place]), folder), number == len(places)


def _is_path(path: object) -> bool:
    return isinstance(path, (str, bytes, os.PathLike))


def _full(path: str, folder: object) -> str:
    if isinstance(folder, int) and folder >= 0:
        path = os.path.join(isolated_os.readlink("/proc/self/fd/%d" % folder), path)
    return os.path.abspath(path)


def _database_file(name: str | bytes | os.PathLike[str]) -> str:
    """The file of an SQLite database; empty for one in memory."""
    name = os.fsdecode(name)
    if name.startswith("file:"):
        name, _mark, options = name[len("file:") :].partition("?")
        if "mode=memory" in options or "mode=ro" in options:
            return ""
    return "" if name == ":memory:" else name


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & _WRITING)
