"""Keep runs independent when a suite writes lasting files: note them, put them back before every run."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

MOST_FILES = 20_000
MOST_BYTES = 100_000_000
# Caches and environments: written by tools, never read as data by tests.
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox",
     ".nox", ".venv", "venv", "node_modules", ".flakehound", ".benchmarks", ".eggs", ".cache"}
)  # fmt: skip

Stamp = tuple[int, int, int]  # size, time of change in ns, mode


@dataclass(slots=True)
class Snapshot:
    """Some paths as they were at one moment."""

    saved: dict[str, Path | None] = field(default_factory=dict)  # None: a folder
    absent: set[str] = field(default_factory=set)
    stamps: dict[str, Stamp | None] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.saved or path in self.absent

    def put_back(self) -> None:
        """Make every path what it was."""
        for path, copy in self.saved.items():
            if copy is None:
                os.makedirs(path, exist_ok=True)
            elif stamp_of(path) != self.stamps.get(path):
                with contextlib.suppress(OSError):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    _restore(copy, path)
        for path in sorted(self.absent, key=len, reverse=True):
            remove(path)


def take_snapshot(paths: Sequence[str], folder: Path) -> Snapshot:
    """Copy the paths as they are now."""
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
    """The lasting files of one suite: as they were at first, and as collection leaves them."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = Path(os.path.realpath(root))
        self._folder = folder
        self.active = False  # the suite writes lasting files: one run at a time, files put back before each
        self.written: list[str] = []  # by the suite itself: what we put back
        self.unclear: list[str] = []  # changed meanwhile, by whom we cannot tell: never touched
        self.at_collection: list[str] = []  # written while modules were imported
        self._tree = dict(_entries(self._root))  # by path below the root; None for a folder
        size = sum(stamp[0] for stamp in self._tree.values() if stamp is not None)
        self._guards_tree = len(self._tree) <= MOST_FILES and size <= MOST_BYTES
        self._pristine = Snapshot()
        self._collected: Snapshot | None = None
        self._temporary: Path | None = None  # where the collected session puts its temporary files
        self._left_by_import: dict[str, Stamp] = {}
        if self._guards_tree:
            self._copy_tree()

    def _copy_tree(self) -> None:
        for path, stamp in self._tree.items():
            if stamp is None:
                continue
            copy = self._folder / "tree" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copy2(self._root / path, copy, follow_symlinks=False)

    def learn(self, notes: Path) -> None:
        """Take in what the watched run wrote, in the tree and elsewhere."""
        for phase, saved, path in _read_notes(notes):
            if saved == "folder" and os.path.isdir(path):
                continue  # made where it was already
            below_root = os.path.relpath(path, self._root)
            if self._is_known(below_root):
                if not self._is_unchanged(below_root):
                    self._learn_from_tree(below_root)
            elif not _is_as_saved(path, saved):
                self._learn_from_note(path, saved)
            if phase == "collection" and path in self._pristine:
                self.at_collection.append(path)
        self.written = [*self._pristine.saved, *self._pristine.absent]
        # Written by a child process of the suite, or by the user: we cannot tell, so we leave it as it is.
        own = set(self.written)
        self.unclear = [path for path in self._changed_in_tree() if str(self._root / path) not in own]
        self.active = bool(self.written or self.unclear)

    def _is_known(self, path: str) -> bool:
        """Whether our own look at the tree, taken before anything ran, tells what was there."""
        if path in self._tree or not self._guards_tree:
            return self._guards_tree
        if not _is_guarded(path) or (self._root / path / "pyvenv.cfg").exists():
            return False
        folder = os.path.dirname(path)
        if folder in self._tree:
            return self._tree[folder] is None  # what lies behind a link is not of the tree
        return not folder or self._is_known(folder)

    def _is_unchanged(self, path: str) -> bool:
        full = self._root / path
        return path in self._tree and (
            full.is_dir() if self._tree[path] is None else stamp_of(full) == self._tree[path]
        )

    def _learn_from_note(self, path: str, saved: str) -> None:
        if saved == "folder":
            self._pristine.saved[path] = None
        elif saved:
            self._pristine.saved[path] = Path(saved)
            self._pristine.stamps[path] = stamp_of(saved)
        else:
            self._pristine.absent.add(path)

    def _learn_from_tree(self, path: str) -> None:
        full = str(self._root / path)
        if path not in self._tree:
            self._pristine.absent.add(full)
        elif self._tree[path] is None:
            self._pristine.saved[full] = None
        else:
            self._pristine.saved[full] = self._folder / "tree" / path
            self._pristine.stamps[full] = self._tree[path]

    def _changed_in_tree(self) -> list[str]:
        if not self._guards_tree:
            return []
        now = dict(_entries(self._root))
        changed = [path for path, stamp in now.items() if path not in self._tree or self._tree[path] != stamp]
        return changed + [path for path in self._tree if path not in now]

    def remember_collected(self, temporary: Path) -> None:
        """What a fresh collection leaves is what every forked run starts from.

        Modules may have made `temporary` files while they were imported; forks would share those.
        """
        self._temporary = temporary
        self._left_by_import = {str(temporary / path): stamp for path, stamp in _files(temporary)}
        if self._left_by_import:
            self.active = True
        if self.active:
            watched = [*self.written, *self._left_by_import]
            self._collected = take_snapshot(watched, self._folder / "collected")

    def before_fork(self) -> None:
        """Put the files to where collection left them."""
        if self.active:
            self._remove_new_temporary()
            (self._collected or self._pristine).put_back()

    def _remove_new_temporary(self) -> None:
        if self._temporary is not None and self._left_by_import:
            for path, _stamp in _files(self._temporary):
                if str(self._temporary / path) not in self._left_by_import:
                    remove(str(self._temporary / path))

    def before_spawn(self) -> None:
        """Put the files to where they were before anything ran."""
        if self.active:
            self._pristine.put_back()


def _read_notes(path: Path) -> Iterator[tuple[str, str, str]]:
    if not path.exists():
        return
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            phase, saved, written = json.loads(line)
            yield phase, saved, written


def _is_as_saved(path: str, saved: str) -> bool:
    """Whether the watched run left an existing path as it found it: opened, or made where it was already."""
    if saved == "folder":
        return os.path.isdir(path)
    return bool(saved) and stamp_of(path) == stamp_of(saved)


def _restore(copy: Path, path: str) -> None:
    if copy.is_symlink() or os.path.islink(path):
        remove(path)
    shutil.copy2(copy, path, follow_symlinks=False)


def stamp_of(path: str | Path) -> Stamp | None:
    """Size, time of change and mode; None when there is no such file."""
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
    passed_over = name in (*_PASSED_OVER, "..") or name.startswith("pytest-cache-files-")
    return not passed_over and not name.endswith((".pyc", ".coverage"))


def _entries(root: Path) -> Iterator[tuple[str, Stamp | None]]:
    """Files with their stamps and folders with None, but for caches and environments."""
    waiting = [""]
    while waiting:
        folder = waiting.pop()
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
                    waiting.append(path)
                    yield path, None
            else:
                stamp = stamp_of(entry.path)
                if stamp is not None:
                    yield path, stamp
