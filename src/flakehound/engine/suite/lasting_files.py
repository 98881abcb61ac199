"""Keep runs independent when a suite writes lasting files: save them, and restore them before every run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MAX_FILES = 20_000
MAX_BYTES = 100_000_000
# Caches and environments: written by tools, never read as data by tests.
_IGNORED_NAMES = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox",
     ".nox", ".venv", "venv", "node_modules", ".flakehound", ".benchmarks", ".eggs", ".cache"}
)  # fmt: skip

Stamp = tuple[int, int, int]  # size, modification time in ns, mode


@dataclass(slots=True)
class Snapshot:
    """The content of some paths at one moment."""

    saved: dict[str, Path | None] = field(default_factory=dict)  # None: a folder
    absent: set[str] = field(default_factory=set)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.saved or path in self.absent

    def restore(self) -> None:
        """Restore every path."""
        for path, copy in self.saved.items():
            if copy is None:
                os.makedirs(path, exist_ok=True)
            elif stamp_of(path) != self.stamps.get(path):
                with contextlib.suppress(OSError):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    _restore_file(copy, path)
        for path in sorted(self.absent, key=len, reverse=True):
            remove(path)


def take_snapshot(paths: Sequence[str], folder: Path) -> Snapshot:
    """Copy the current content of the paths."""
    snapshot = Snapshot()
    folder.mkdir(parents=True, exist_ok=True)
    for number, path in enumerate(paths):
        if os.path.isfile(path):
            copy = folder / str(number)
            shutil.copy2(path, copy)
            snapshot.saved[path] = copy
            snapshot.stamps[path] = stamp_of(path)
        elif os.path.isdir(path):
            snapshot.saved[path] = None
        else:
            snapshot.absent.add(path)
    return snapshot


class FileGuard:
    """Restores the lasting files of one suite to their state at the start, or after collection."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self._folder = folder
        self.active = False  # the suite writes lasting files: one run at a time, files restored before each
        self.written: list[str] = []  # by the suite itself: restored
        self.unclear: list[str] = []  # changed by an unknown process: never restored
        self.at_collection: list[str] = []  # written while modules were imported
        self._tree = dict(_entries(self._root))  # relative path -> stamp; None for a folder
        size = sum(stamp[0] for stamp in self._tree.values() if stamp is not None)
        self._has_copy = len(self._tree) <= MAX_FILES and size <= MAX_BYTES
        self._initial = Snapshot()
        self._collected: Snapshot | None = None
        self._temporary: Path | None = None  # the folder of the collected session's temporary files
        self._left_by_import: dict[str, Stamp] = {}
        if self._has_copy:
            self._copy_tree()

    def _copy_tree(self) -> None:
        for path, stamp in self._tree.items():
            if stamp is None:
                continue
            copy = self._folder / "tree" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copy2(self._root / path, copy, follow_symlinks=False)

    def read_notes(self, notes: Path) -> None:
        """Determine what the observed run wrote, in the tree and elsewhere."""
        for phase, saved, path in _notes_in(notes):
            if saved == "folder" and os.path.isdir(path):
                continue  # created although it existed
            relative = os.path.relpath(path, self._root)
            if self._is_known(relative):
                if not self._is_unchanged(relative):
                    self._add_from_tree(relative)
            elif not _is_as_saved(path, saved):
                self._add_from_note(path, saved)
            if phase == "collection" and path in self._initial:
                self.at_collection.append(path)
        self.written = [*self._initial.saved, *self._initial.absent]
        # Written by a child process of the suite, or by the user: as that is unknown, it is not restored.
        own = set(self.written)
        self.unclear = [path for path in self._changed_in_tree() if str(self._root / path) not in own]
        self.active = bool(self.written or self.unclear)

    def _is_known(self, path: str) -> bool:
        """Whether the state of a path before anything ran is known from our copy of the tree."""
        if path in self._tree or not self._has_copy:
            return self._has_copy
        if not _is_guarded(path) or (self._root / path / "pyvenv.cfg").exists():
            return False
        folder = os.path.dirname(path)
        if folder in self._tree:
            return self._tree[folder] is None  # content behind a symbolic link is not part of the tree
        return not folder or self._is_known(folder)

    def _is_unchanged(self, path: str) -> bool:
        full = self._root / path
        return path in self._tree and (
            full.is_dir() if self._tree[path] is None else stamp_of(full) == self._tree[path]
        )

    def _add_from_note(self, path: str, saved: str) -> None:
        if saved == "folder":
            self._initial.saved[path] = None
        elif saved:
            self._initial.saved[path] = Path(saved)
            self._initial.stamps[path] = stamp_of(saved)
        else:
            self._initial.absent.add(path)

    def _add_from_tree(self, path: str) -> None:
        full = str(self._root / path)
        if path not in self._tree:
            self._initial.absent.add(full)
        elif self._tree[path] is None:
            self._initial.saved[full] = None
        else:
            self._initial.saved[full] = self._folder / "tree" / path
            self._initial.stamps[full] = self._tree[path]

    def _changed_in_tree(self) -> list[str]:
        if not self._has_copy:
            return []
        now = dict(_entries(self._root))
        changed = [path for path, stamp in now.items() if path not in self._tree or self._tree[path] != stamp]
        return changed + [path for path in self._tree if path not in now]

    def remember_collected(self, temporary: Path) -> None:
        """Save the files as a new collection leaves them: every forked run starts from there.

        Modules may have created files in `temporary` while they were imported; forked runs share those.
        """
        self._temporary = temporary
        self._left_by_import = {str(temporary / path): stamp for path, stamp in _files(temporary)}
        if self._left_by_import:
            self.active = True
        if self.active:
            paths = [*self.written, *self._left_by_import]
            self._collected = take_snapshot(paths, self._folder / "collected")

    def before_fork(self) -> None:
        """Restore the files to their state after collection."""
        if self.active:
            self._remove_new_temporary()
            (self._collected or self._initial).restore()

    def _remove_new_temporary(self) -> None:
        if self._temporary is not None and self._left_by_import:
            for path, _stamp in _files(self._temporary):
                if str(self._temporary / path) not in self._left_by_import:
                    remove(str(self._temporary / path))

    def before_spawn(self) -> None:
        """Restore the files to their state before anything ran."""
        if self.active:
            self._initial.restore()


def _notes_in(path: Path) -> Iterator[tuple[str, str, str]]:
    if not path.exists():
        return
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            phase, saved, written = json.loads(line)
            yield phase, saved, written


def _is_as_saved(path: str, saved: str) -> bool:
    """Whether the observed run left an existing path unchanged: it opened the file or re-created the folder."""
    if saved == "folder":
        return os.path.isdir(path)
    return bool(saved) and stamp_of(path) == stamp_of(saved)


def _restore_file(copy: Path, path: str) -> None:
    if copy.is_symlink() or os.path.islink(path):
        remove(path)
    shutil.copy2(copy, path, follow_symlinks=False)


def stamp_of(path: str | Path) -> Stamp | None:
    """Size, modification time and mode; None when there is no such file."""
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_size, status.st_mtime_ns, status.st_mode


def remove(path: str) -> None:
    """Remove a file, or a folder if it is empty."""
    with contextlib.suppress(OSError):
        if os.path.isdir(path) and not os.path.islink(path):
            os.rmdir(path)
        else:
            os.unlink(path)


def _files(root: Path) -> Iterator[tuple[str, Stamp]]:
    return ((path, stamp) for path, stamp in _entries(root) if stamp is not None)


def _is_guarded(path: str) -> bool:
    name = os.path.basename(path)
    is_ignored = name in (*_IGNORED_NAMES, "..") or name.startswith("pytest-cache-files-")
    return not is_ignored and not name.endswith((".pyc", ".coverage"))


def _entries(root: Path) -> Iterator[tuple[str, Stamp | None]]:
    """Files with their stamps and folders with None, without caches and environments."""
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            entries = list(os.scandir(root / folder))
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if not _is_guarded(path):
                continue
            if entry.is_dir(follow_symlinks=False):
                if not os.path.exists(f"{entry.path}/pyvenv.cfg"):
                    pending.append(path)
                    yield path, None
            else:
                stamp = stamp_of(entry.path)
                if stamp is not None:
                    yield path, stamp
