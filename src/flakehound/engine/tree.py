"""Protect the project's files: some suites write into their own tree, and every later run would see it."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

MOST_FILES = 20_000
MOST_BYTES = 100_000_000
# Caches and environments: written by tools, never read as data by tests.
_PASSED_OVER = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox",
     ".nox", ".venv", "venv", "node_modules", ".flakehound", ".benchmarks", ".eggs"}
)  # fmt: skip

Stamp = tuple[int, int, int]  # size, time of change in ns, mode


class TreeGuard:
    """Remembers a folder as it was and can put it back."""

    def __init__(self, root: Path, backup: Path) -> None:
        self._root = root
        self._backup = backup
        self.active = False  # the suite was seen writing; put the tree back after every run
        self.too_large = False
        self._before: dict[str, Stamp] = {}
        self._remember()

    def _remember(self) -> None:
        total = 0
        for path, stamp in _files(self._root):
            total += stamp[0]
            self._before[path] = stamp
            if len(self._before) > MOST_FILES or total > MOST_BYTES:
                self.too_large = True
                self._before.clear()
                return
        for path in self._before:
            copy = self._backup / path
            copy.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(OSError):
                shutil.copy2(self._root / path, copy, follow_symlinks=False)

    def changes(self) -> list[str]:
        """Paths that were written, made or removed since the beginning."""
        if self.too_large:
            return []
        now = dict(_files(self._root))
        changed = [path for path, stamp in now.items() if self._before.get(path) != stamp]
        return sorted(changed + [path for path in self._before if path not in now])

    def notice(self) -> list[str]:
        """Turn the protection on if the suite wrote something; the paths it wrote."""
        changed = self.changes()
        if changed:
            self.active = True
            self.put_back(changed)
        return changed

    def put_back(self, changed: list[str] | None = None) -> None:
        """Make the tree what it was."""
        for path in self.changes() if changed is None else changed:
            target, copy = self._root / path, self._backup / path
            with contextlib.suppress(OSError):
                if path in self._before and copy.exists():
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy2(copy, target, follow_symlinks=False)
                elif path not in self._before:
                    target.unlink()
                    self._remove_empty_parents(target.parent)

    def _remove_empty_parents(self, folder: Path) -> None:
        known = {str(Path(path).parent) for path in self._before}
        while folder != self._root and str(folder.relative_to(self._root)) not in known:
            try:
                folder.rmdir()
            except OSError:
                return
            folder = folder.parent


def _files(root: Path) -> Iterator[tuple[str, Stamp]]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        try:
            entries = list(os.scandir(root / folder))
        except OSError:
            continue
        for entry in entries:
            path = f"{folder}/{entry.name}" if folder else entry.name
            if entry.is_dir(follow_symlinks=False):
                if entry.name not in _PASSED_OVER and not os.path.exists(f"{entry.path}/pyvenv.cfg"):
                    waiting.append(path)
            elif not entry.name.endswith((".pyc", ".coverage")):
                with contextlib.suppress(OSError):
                    status = entry.stat(follow_symlinks=False)
                    yield path, (status.st_size, status.st_mtime_ns, status.st_mode)
