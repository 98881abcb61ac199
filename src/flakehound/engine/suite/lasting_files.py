"""Keeps runs independent if they share files: saves lasting files and restores them before every run.

A path that a whole run creates and removes again is temporary, not lasting. If its name is the same in every run,
runs at the same time would share it, and a run that is ended by its time limit leaves it behind: it is removed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Sequence
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


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteNote:
    """A path that the observed run wrote, see flakehound_inside.observe.writes."""

    phase: str  # collection or tests
    saved: str  # path of its copy, "folder", or empty if it did not exist
    path: str
    is_folder: bool  # the run created a folder
    differs: bool  # other runs use another path
    test: str = ""  # id of the test that wrote it; empty: not known


@dataclass(slots=True)
class Snapshot:
    """The content of some paths at one moment."""

    saved: dict[str, Path | None] = field(default_factory=dict)  # None: a folder
    absent: set[str] = field(default_factory=set)
    temporary_folders: set[str] = field(
        default_factory=set
    )  # absent ones that runs create and remove with their content
    stamps: dict[str, Stamp | None] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.saved or path in self.absent

    @property
    def is_unchanged(self) -> bool:
        """Whether the paths still have the saved content."""
        files = [path for path, copy in self.saved.items() if copy is not None]
        is_changed = any(stamp_of(path) != self.stamps.get(path) for path in files)
        return not is_changed and not any(map(os.path.lexists, self.absent))

    def restore(self) -> None:
        """Give every path its saved content again, and remove those that did not exist."""
        for path, copy in self.saved.items():
            if copy is None:
                os.makedirs(path, exist_ok=True)
            elif stamp_of(path) != self.stamps.get(path):
                with contextlib.suppress(OSError):
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    _restore_file(copy, path)
        for path in self.temporary_folders:
            _remove_content(path)
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

    def __init__(self, root: Path, folder: Path, while_copying: Callable[[], None] = lambda: None) -> None:
        self._root = Path(os.path.realpath(root))
        self._folder = folder
        self.is_active = False  # runs share files: one run at a time, files restored before each
        self.written: list[str] = []  # paths that the suite itself wrote and left changed; they are restored
        self.shared_temporary: list[str] = []  # paths that every run creates and removes, without their content
        # Other paths that changed while the suite ran, by unknown processes; they are never restored.
        self.changed_by_unknown: list[str] = []
        self.written_at_collection: list[str] = []  # while modules were imported
        self.has_unknown_changes = False  # files changed, and it is not known by which test
        self._tree = dict(_entries(self._root))  # stamps by relative path; None for a folder
        size = sum(stamp[0] for stamp in self._tree.values() if stamp is not None)
        self._has_copy = len(self._tree) <= MAX_FILES and size <= MAX_BYTES
        self._initial_state = Snapshot()
        self.collected_state: Snapshot | None = None  # None: the same as before anything ran
        self._temporary_folder: Path | None = None  # of the collected session
        self._files_left_by_import: dict[str, Stamp] = {}
        self._new_after_collection: set[str] = set()  # relative paths; the session removes its own when it ends
        if self._has_copy:
            self._copy_tree(while_copying)

    def _copy_tree(self, while_copying: Callable[[], None]) -> None:
        for path, stamp in self._tree.items():
            if stamp is None:
                continue
            while_copying()
            copy = self._folder / "tree" / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copy2(self._root / path, copy, follow_symlinks=False)

    def read_notes(self, notes: Path) -> None:
        """Read what the observed run wrote, in the project and elsewhere."""
        temporary: list[WriteNote] = []
        for note in notes_in(notes):
            if note.saved == "folder" and os.path.isdir(note.path):
                continue  # created although it existed
            if self._is_temporary(note):
                # What a module creates when it is imported is shared by all forks, whatever its name is.
                if not note.differs or note.phase == "collection":
                    temporary.append(note)
                    self._add_temporary(note)
            else:
                self._add_if_changed(note)
            if note.phase == "collection" and note.path in self._initial_state:
                self.written_at_collection.append(note.path)
        is_temporary = {note.path for note in temporary}
        self.shared_temporary = _topmost(is_temporary)
        self.written = [path for path in self.restored_paths if path not in is_temporary]
        self._add_changed_by_unknown()

    @property
    def restored_paths(self) -> list[str]:
        """The paths that are restored before each run."""
        return [*self._initial_state.saved, *self._initial_state.absent]

    def _add_changed_by_unknown(self) -> None:
        # Changed by a child process of the suite or by the user. As we do not know by which, it is not restored.
        restored = set(self.restored_paths)
        self.changed_by_unknown = [
            path for path in self._changed_in_tree() if str(self._root / path) not in restored
        ]
        self.has_unknown_changes = bool(self.changed_by_unknown)
        self.is_active = bool(self.written or self.changed_by_unknown or self.shared_temporary)

    def _is_temporary(self, note: WriteNote) -> bool:
        """Whether the path existed neither before the observed run nor after it."""
        in_tree = os.path.relpath(note.path, self._root) in self._tree
        return not note.saved and not in_tree and not os.path.lexists(note.path)

    def _add_temporary(self, note: WriteNote) -> None:
        self._initial_state.absent.add(note.path)
        # Outside the project another program may use the same folder: only what the observed run wrote is removed.
        if note.is_folder and self._is_known(os.path.relpath(note.path, self._root)):
            self._initial_state.temporary_folders.add(note.path)

    def _add_if_changed(self, note: WriteNote) -> None:
        relative = os.path.relpath(note.path, self._root)
        if self._is_known(relative):
            if not self._is_unchanged(relative):
                self._add_from_tree(relative)
        elif not _equals_saved(note.path, note.saved):
            self._add_from_note(note.path, note.saved)

    def left_behind(self) -> list[str]:
        """New paths in the project that are not removed at the end, because it is not known who made them."""
        removed = self._initial_state.absent | {str(self._root / path) for path in self._new_after_collection}
        folders = tuple(f"{folder}{os.sep}" for folder in self._initial_state.temporary_folders)
        new = {str(self._root / path) for path in self._new_in_tree()}
        left = {path for path in new - removed if not path.startswith(folders)}
        return [os.path.relpath(path, self._root) for path in _topmost(left)]

    def _new_in_tree(self) -> set[str]:
        return {path for path, _stamp in _entries(self._root) if path not in self._tree}

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
            self._initial_state.saved[path] = None
        elif saved:
            self._initial_state.saved[path] = Path(saved)
            self._initial_state.stamps[path] = stamp_of(saved)
        else:
            self._initial_state.absent.add(path)

    def _add_from_tree(self, path: str) -> None:
        full = str(self._root / path)
        if path not in self._tree:
            self._initial_state.absent.add(full)
        elif self._tree[path] is None:
            self._initial_state.saved[full] = None
        else:
            self._initial_state.saved[full] = self._folder / "tree" / path
            self._initial_state.stamps[full] = self._tree[path]

    def _changed_in_tree(self) -> list[str]:
        if not self._has_copy:
            return []
        current_tree = dict(_entries(self._root))
        changed = [
            path for path, stamp in current_tree.items() if path not in self._tree or self._tree[path] != stamp
        ]
        return changed + [path for path in self._tree if path not in current_tree]

    def save_collected_state(self, temporary: Path) -> None:
        """Save the files as a new collection left them, because every forked run starts from that state.

        Modules may have created files in `temporary` while they were imported; forked runs share those.
        """
        self._temporary_folder = temporary
        self._new_after_collection = self._new_in_tree()
        self._files_left_by_import = {str(temporary / path): stamp for path, stamp in _files(temporary)}
        if self._files_left_by_import:
            self.is_active = True
            self.has_unknown_changes = True  # any test may change what modules left
        if self.is_active:
            paths = [*self.restored_paths, *self._files_left_by_import]
            self.collected_state = take_snapshot(paths, self._folder / "collected")
            absent = self.collected_state.absent
            self.collected_state.temporary_folders = self._initial_state.temporary_folders & absent

    def restore_for_fork(self) -> None:
        """Restore the files to their state after collection."""
        if self.is_active:
            self._remove_new_temporary()
            (self.collected_state or self._initial_state).restore()

    def _remove_new_temporary(self) -> None:
        if self._temporary_folder is not None and self._files_left_by_import:
            for path, _stamp in _files(self._temporary_folder):
                if str(self._temporary_folder / path) not in self._files_left_by_import:
                    remove(str(self._temporary_folder / path))

    def restore_for_spawn(self) -> None:
        """Restore the files to their state before anything ran."""
        if self.is_active:
            self._initial_state.restore()


def has_files(folder: Path) -> bool:
    """Whether a folder contains files, without caches."""
    return any(True for _file in _files(folder))


def noted_writes(notes: Path) -> Iterator[WriteNote]:
    """The lasting files that an observed run has written so far; folders that existed before do not count."""
    return (note for note in notes_in(notes) if note.saved != "folder" and not note.differs)


def notes_in(path: Path) -> Iterator[WriteNote]:
    """What the observed run wrote, by its file of notes."""
    if not path.exists():
        return
    for line in path.read_text(errors="replace").splitlines():
        with contextlib.suppress(ValueError):
            phase, saved, written, is_folder, differs, *test = json.loads(line)
            yield WriteNote(
                phase=phase,
                saved=saved,
                path=written,
                is_folder=is_folder,
                differs=differs,
                test=test[0] if test else "",
            )


def _topmost(paths: Collection[str]) -> list[str]:
    """The paths that are not below another one, sorted."""
    return [path for path in sorted(paths) if not any(str(above) in paths for above in Path(path).parents)]


def _equals_saved(path: str, saved: str) -> bool:
    """Whether the observed run left an existing path unchanged although it opened or re-created it."""
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


def _remove_content(folder: str) -> None:
    """Remove what is in a folder that did not exist at the start, except what another user made."""
    if os.path.islink(folder):
        return
    for parent, folders, files in os.walk(folder, topdown=False):
        for name in (*files, *folders):
            path = os.path.join(parent, name)
            with contextlib.suppress(OSError):
                if os.lstat(path).st_uid == os.getuid():
                    remove(path)


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
