"""Distinguish files of the project, of libraries, of the system and of flakehound by their paths."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from typing import Iterable

_SYSTEM_FOLDERS = ("/proc/", "/dev/", "/sys/")
_SHARED_MEMORY = ("/dev/shm/", "/dev/mqueue/")  # files of users all the same
_CACHE_FOLDERS = ("/__pycache__/", "/.pytest_cache/")


class ProjectPaths:
    """Classifies paths; every method that classifies expects a path without symbolic links."""

    def __init__(self, root: str, own_folder: str) -> None:
        """`root` is the project's folder, `own_folder` the one in which flakehound keeps its files."""
        self._resolved: dict[str, str] = {}  # by folder
        self._root = _folder_prefixes([root])
        self._own = _folder_prefixes([own_folder])
        self._standard = _folder_prefixes([os.path.dirname(os.__file__)])
        installed = [path for path in sys.path if os.path.basename(path) in ("site-packages", "dist-packages")]
        self._installed = _folder_prefixes(installed)
        # If the tests are those of an installed package, the project itself is in site-packages.
        self._libraries = tuple(
            path for path in self._standard + self._installed if not self._root[-1].startswith(path)
        )

    def is_library(self, path: str) -> bool:
        """Whether a file belongs to Python or to an installed package."""
        return path.startswith(self._libraries)

    def is_project(self, path: str) -> bool:
        """Whether a file is below the project's root and belongs to no installed package."""
        return path.startswith(self._root) and not self.is_library(path)

    def is_ignored(self, path: str) -> bool:
        """Whether a file cannot be part of a change of the project: caches, system files, flakehound's files."""
        return (
            path.startswith(self._own)
            or (path.startswith(_SYSTEM_FOLDERS) and not path.startswith(_SHARED_MEMORY))
            or (path.startswith(self._standard) and not path.startswith(self._installed + self._root))
            or any(part in path for part in _CACHE_FOLDERS)
        )

    def resolve(self, path: str) -> str:
        """The path without symbolic links; faster than `os.path.realpath` because folders are cached."""
        folder, name = os.path.split(path)
        if folder not in self._resolved:
            self._resolved[folder] = os.path.realpath(folder)
        path = os.path.join(self._resolved[folder], name)
        try:
            is_link = stat.S_ISLNK(isolated_os.lstat(path).st_mode)
        except (OSError, ValueError):  # "<string>" and the like
            return path
        return os.path.realpath(path) if is_link else path

    def coverage_patterns(self) -> tuple[list[str], list[str]]:
        """The `include` and `omit` patterns with which coverage.py measures the project's files only."""
        nested = [path for path in self._libraries if path.startswith(self._root)]
        return (
            [coverage_pattern(path) + "*" for path in self._root],
            [coverage_pattern(path) + "*" for path in nested],
        )


def coverage_pattern(path: str) -> str:
    """A pattern that matches a path in coverage.py, which has no way to quote special characters.

    Each special character is replaced by one that matches any; callers that need exact paths compare the results.
    """
    return "".join("?" if letter in "*?[]" else letter for letter in path)


def _folder_prefixes(paths: Iterable[str]) -> tuple[str, ...]:
    """Each folder by its given name and by its resolved name, ending in a slash for `str.startswith`."""
    names = [name for path in paths for name in (os.path.abspath(path), os.path.realpath(path))]
    return tuple(os.path.join(name, "") for name in dict.fromkeys(names))
