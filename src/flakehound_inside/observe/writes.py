"""Notes which files a plain run writes, and saves a copy of each before the first write.

Runs that share such files are not independent: each finds what the one before has left, or what another one writes
at the same time. Which of them last is decided after the run, in `engine/suite/lasting_files.py`. Observed through
Python's audit events, so also in libraries, but not in child processes.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Any, Iterator

    _PathPositions = tuple[tuple[int, int | None], ...]

_WRITING_FLAGS = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
# Positions in the arguments of each event: of a path, and of the descriptor of the folder that it is relative to.
_CREATING_EVENTS: dict[str, _PathPositions] = {
    "os.mkdir": ((0, 2),),
    "os.symlink": ((1, 2),),
    "os.link": ((1, 3),),
    "os.truncate": ((0, None),),
}
_REMOVING_EVENTS: dict[str, _PathPositions] = {
    "os.remove": ((0, 1),),
    "os.rmdir": ((0, 1),),
    "os.rename": ((0, 2), (1, 3)),
    "shutil.rmtree": ((0, 1),),
}
_UUID = re.compile(r"(?<![0-9a-f])[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}(?![0-9a-f])")
_RANDOM_NAME_EVENTS = ("tempfile.mkstemp", "tempfile.mkdtemp")  # come before the file or folder is created
_CACHES = (
    "/__pycache__",
    "/.pytest_cache",
    "/pytest-cache-files-",
    "/.hypothesis",
    "/.cache/",
    "/.mypy_cache",
    "/.coverage",
    "/.git/",
)


class CachePaths:
    """Which paths belong to caches of tools, whose content no test reads as data."""

    def __init__(self) -> None:
        folder = os.getcwd()
        # The project itself may be below a folder with such a name, for instance in a home folder's `.cache`.
        self._project = tuple(path.rstrip(os.sep) + os.sep for path in {folder, os.path.realpath(folder)})

    def include(self, path: str) -> bool:
        """Whether the path, below the project if it is there, has the name of a cache."""
        for project in self._project:
            if path.startswith(project):
                path = os.sep + path[len(project) :]
        return any(part in path for part in _CACHES)


class WriteObserver:
    """Writes one JSON line per path that is written, and per test that writes it.

    It has: phase, path of the saved copy or nothing, path, whether a folder is created, whether other runs use
    another path, because this one has a random name or the number of the process in it, and the test.
    """

    def __init__(self, folder: str, own_folder: str) -> None:
        self._folder = folder
        self._notes = os.path.join(folder, "writes")
        self._own_folder = os.path.realpath(own_folder) + os.sep
        self._caches = CachePaths()
        self._first_notes: dict[str, list[Any]] = {}  # by path; an empty one if the path does not matter
        self._noted: set[tuple[str, str]] = set()  # paths and the tests that write them
        self._random_names: set[str] = set()
        self._process = isolated_os.getpid()
        self._is_handling = False
        self.phase = "collection"

    def start(self) -> None:
        """Observe from now on; Python has no way to remove an audit hook."""
        sys.addaudithook(self._receive)

    def _receive(self, event: str, arguments: tuple[Any, ...]) -> None:
        if event in _RANDOM_NAME_EVENTS and isinstance(arguments[0], str):
            self._random_names.add(os.path.abspath(arguments[0]))
        if self._is_handling or not may_write(event):
            return
        self._is_handling = True
        try:
            for path, is_last in written_paths(event, arguments):
                creates = is_last and event not in ("os.remove", "os.rmdir", "shutil.rmtree")
                self._note(path, creates=creates, is_folder=event == "os.mkdir")
        except (OSError, ValueError):
            pass
        finally:
            self._is_handling = False

    def _note(self, path: str, creates: bool, is_folder: bool) -> None:
        if creates and os.path.islink(path):
            path = os.path.realpath(path)
        test = self._current_test()
        if (path, test) in self._noted or path.startswith(("/dev/", "/proc/", "/sys/")):
            return
        if not creates and not os.path.lexists(path):
            return  # there is nothing to remove
        if creates and not os.path.isdir(os.path.dirname(path)):
            return  # the attempt will fail; a later one may not
        self._noted.add((path, test))
        if path not in self._first_notes:
            self._first_notes[path] = self._first_note(path, is_folder)
        note = self._first_notes[path]
        if note:
            append_note(self._notes, isolated_os.dumps([*note, test]))

    def _current_test(self) -> str:
        """The id of the test that runs now, as pytest tells it; empty while pytest collects."""
        if self.phase == "collection":
            return ""
        return os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]

    def _first_note(self, path: str, is_folder: bool) -> list[Any]:
        if os.path.realpath(path).startswith(self._own_folder) or self._caches.include(path):
            return []
        saved = ""
        if os.path.isfile(path):
            saved = os.path.join(self._folder, "saved-%d" % len(self._first_notes))
            shutil.copy2(path, saved)
        elif os.path.isdir(path):
            saved = "folder"
        elif os.path.lexists(path):
            return []  # a pipe or a socket can be neither copied nor restored
        return [self.phase, saved, path, is_folder, self._differs_between_runs(path)]

    def _differs_between_runs(self, path: str) -> bool:
        numbers = re.findall(r"\d+", path)
        if str(self._process) in numbers or str(isolated_os.getpid()) in numbers or _UUID.search(path):
            return True
        parents = (path[:end] for end, letter in enumerate(path) if letter == os.sep)
        return path in self._random_names or any(parent in self._random_names for parent in parents)


def append_note(file: str, line: str) -> None:
    """Append one line to a file of notes."""
    # Opened each time, because a test may close a descriptor that stays open, and its number may be reused.
    log = isolated_os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        isolated_os.write(log, (line + "\n").encode("utf-8", "backslashreplace"))
    finally:
        isolated_os.close(log)


def may_write(event: str) -> bool:
    """Whether an audit event may be about writing a file."""
    return event in ("open", "sqlite3.connect") or event in _CREATING_EVENTS or event in _REMOVING_EVENTS


def written_paths(event: str, arguments: tuple[Any, ...]) -> Iterator[tuple[str, bool]]:
    """The absolute paths that an event writes to, each with whether it is the last path of the event.

    The last path of a rename is the one that is created; the first is removed.
    """
    if event == "open":
        path, mode, flags = arguments
        if _is_writing(mode, flags) and _is_path(path):
            yield os.path.abspath(os.fsdecode(path)), True
    elif event == "sqlite3.connect":
        path = _database_file(arguments[0]) if _is_path(arguments[0]) else ""
        if path:
            yield os.path.abspath(path), True
    else:
        positions = _CREATING_EVENTS.get(event) or _REMOVING_EVENTS[event]
        for number, (position, folder_position) in enumerate(positions, 1):
            if _is_path(arguments[position]):
                folder = None
                if folder_position is not None and folder_position < len(arguments):
                    folder = arguments[folder_position]
                yield _absolute(os.fsdecode(arguments[position]), folder), number == len(positions)


def _is_path(path: object) -> bool:
    return isinstance(path, (str, bytes, os.PathLike))


def _absolute(path: str, folder: object) -> str:
    if isinstance(folder, int) and folder >= 0:
        path = os.path.join(isolated_os.readlink("/proc/self/fd/%d" % folder), path)
    return os.path.abspath(path)


def _database_file(name: str | bytes | os.PathLike[str]) -> str:
    """The file of an SQLite database; empty for one in memory or opened for reading only."""
    name = os.fsdecode(name)
    if name.startswith("file:"):
        name, _mark, options = name[len("file:") :].partition("?")
        if "mode=memory" in options or "mode=ro" in options:
            return ""
    return "" if name == ":memory:" else name


def _is_writing(mode: object, flags: object) -> bool:
    if isinstance(mode, str):
        return any(letter in mode for letter in "wax+")
    return bool(isinstance(flags, int) and flags & _WRITING_FLAGS)
