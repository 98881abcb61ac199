"""Notes on a process while it runs: files, folders, modules, and reasons why the notes may be incomplete.

Only names are noted while a test runs, and no function is called that a test may have mocked.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from flakehound_inside.isolated_os import isolated_os

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any

    from flakehound_inside.observe.project_paths import ProjectPaths

MAX_PATHS = 20_000  # files, and as many folders
_MAX_DOUBTS = 50


class DependencyNotes:
    """Paths as the process used them, symbolic links not yet followed."""

    def __init__(self, paths: ProjectPaths) -> None:
        self._paths = paths
        self.opened: set[str] = set()
        self.listed: set[str] = set()
        self.looked_at: set[str] = set()  # asked for existence, size, mode or time
        self.settings: set[str] = set()  # files that pytest read as its configuration
        self.linked: set[str] = set()
        self.native: set[str] = set()  # libraries and extension modules
        self.attempted: set[str] = set(sys.modules)  # names of modules that were or could not be imported
        self.loaded: dict[str, str] = {}  # modules by file, including those that were removed from sys.modules
        self.doubts: dict[str, None] = {}  # in the order in which they arose

    def add_doubt(self, text: str) -> None:
        """Note a reason why the notes may be incomplete."""
        if len(self.doubts) < _MAX_DOUBTS:
            self.doubts[text] = None

    def add_path(self, paths: set[str], path: str) -> None:
        """Add a path to one of the sets, unless a change of the project cannot be there."""
        if path in paths or self._paths.is_ignored(path):
            return
        if len(paths) >= MAX_PATHS:
            self.add_doubt("it reaches for more than %d files" % MAX_PATHS)
        else:
            paths.add(path)

    def add_opened(self, path: str, module: str) -> None:
        """Note a file that a module opened for reading."""
        if module.startswith("_pytest.config"):
            self.settings.add(path)
        self.add_path(self.opened, path)

    def add_if_it_exists(self, path: str) -> None:
        """Note a path that is about to be made, and where something is already: this will fail."""
        try:
            isolated_os.lstat(path)
        except OSError:
            return
        self.add_path(self.opened, path)

    def add_locked(self, file: Any) -> None:
        """Note a file that gets a lock, by its descriptor or an object that has one."""
        number = file if isinstance(file, int) else file.fileno()
        self.add_path(self.opened, isolated_os.readlink("/proc/self/fd/%d" % number))

    def add_relative(self, path: str) -> None:
        """Add a doubt if `os.open` got a relative path that does not exist in the working folder.

        The call may start from the descriptor of another folder, which the audit event does not contain.
        """
        try:
            isolated_os.lstat(path)
        except OSError:
            self.add_doubt("it opened %s, perhaps in another folder" % os.path.basename(path))

    def add_loaded_module(self, importer: FrameType | None) -> None:
        """Note the module that importlib's `get_code`, running in this frame, loads."""
        variables: Any = importer.f_locals if importer is not None else {}
        path = getattr(variables.get("self"), "path", None)
        if isinstance(path, str) and not self._paths.is_library(self._paths.resolve(path)):
            self.loaded[path] = str(variables.get("fullname"))

    def add_rewritten_module(self, frame: FrameType | None) -> None:
        """Note the module whose asserts pytest rewrites in this frame or one above it."""
        while frame is not None and frame.f_code.co_name != "exec_module":
            frame = frame.f_back
        module = frame.f_locals.get("module") if frame is not None else None
        path = getattr(getattr(module, "__spec__", None), "origin", None)
        if module is not None and isinstance(path, str):
            self.loaded[path] = module.__name__
