"""Saves and restores a folder of temporary files, using functions that no test can mock."""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Any, Iterator

MAX_BYTES = 50000000


class FolderTooLarge(Exception):
    """The folder is too large to be copied into memory."""


class FolderSnapshot:
    """The content of a folder at the time of creation, kept in memory."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._entries = list(_entries(folder))
        self._stamps = [_stamp(path, status) for path, status in self._entries]
        if sum(status.st_size for _path, status in self._entries if stat.S_ISREG(status.st_mode)) > MAX_BYTES:
            raise FolderTooLarge("temporary files of more than %d bytes" % MAX_BYTES)
        self._contents = {path: _content(path, status) for path, status in self._entries}

    def restore(self) -> None:
        """Undo every change since then; writes nothing if nothing has changed."""
        current_entries = list(_entries(self._folder))
        if [_stamp(path, status) for path, status in current_entries] == self._stamps:
            return
        for path, status in reversed(current_entries):
            (isolated_os.rmdir if stat.S_ISDIR(status.st_mode) else isolated_os.unlink)(path)
        for path, status in self._entries:
            _create(path, status, self._contents[path])
        # The modification time of a folder changes with its content.
        self._stamps = [_stamp(path, status) for path, status in _entries(self._folder)]


def _entries(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Every path below the folder with its status, a folder before its content."""
    for name in sorted(isolated_os.listdir(folder)):
        path = folder + "/" + name
        status = isolated_os.lstat(path)
        yield path, status
        if stat.S_ISDIR(status.st_mode):
            yield from _entries(path)


def _stamp(path: str, status: os.stat_result) -> tuple[str, int, int, int, int]:
    return path, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ino


def _content(path: str, status: os.stat_result) -> str | bytes | None:
    if stat.S_ISLNK(status.st_mode):
        return isolated_os.readlink(path)
    if not stat.S_ISREG(status.st_mode):
        return None
    file = isolated_os.open(path, os.O_RDONLY)
    try:
        return b"".join(iter(lambda: isolated_os.read(file, 1 << 20), b""))
    finally:
        isolated_os.close(file)


def _create(path: str, status: os.stat_result, content: Any) -> None:  # as _content returned it
    if stat.S_ISLNK(status.st_mode):
        isolated_os.symlink(content, path)
    elif stat.S_ISDIR(status.st_mode):
        isolated_os.mkdir(path, 0o700)
        isolated_os.chmod(path, stat.S_IMODE(status.st_mode))
    elif stat.S_ISREG(status.st_mode):
        file = isolated_os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        try:
            while content:
                content = content[isolated_os.write(file, content) :]
        finally:
            isolated_os.close(file)
        isolated_os.chmod(path, stat.S_IMODE(status.st_mode))
        isolated_os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
