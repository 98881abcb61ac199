"""Files that git ignores in the user's tree: generated modules, local settings, data, extension modules.

The base lacks them, but its tests may need them. They are copied there on request. A copy is not part of the base:
the changed code, or a build of it, may have written it. So the caller compares runs with and without the copies.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.engine.git.repository import SLOW_S, Repository
from flakehound.engine.git.worktree import BaseTree

MAX_FILES = 5_000
MAX_BYTES = 200_000_000
_EXAMPLES = 3  # files that a note names
_TOOL_FOLDERS = frozenset(
    {".git", ".hg", ".svn", "__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".tox", ".nox", ".eggs",
     "node_modules", "build", "dist", ".flakehound", ".hypothesis", ".venv", "venv", ".idea", ".vscode", "htmlcov",
     ".ipynb_checkpoints"}
)  # fmt: skip
_TOOL_FILES = re.compile(r"\.coverage(\..*)?|coverage\.(xml|json|lcov)|.*\.py[co]|\.DS_Store|flakehound\.db.*")
_EXTENSION = re.compile(r"\.(so|pyd|dylib|dll)(\.\d+)*$")
_NATIVE_SOURCE = re.compile(
    r".*\.(c|cc|cpp|cxx|h|hh|hpp|hxx|pyx|pxd|pxi|rs|f|f90|f95|for|go|cu|s|asm|i|swg|zig)"
    r"|(.*/)?(setup\.py|CMakeLists\.txt|.*\.cmake|meson\.build|meson_options\.txt|Cargo\.(toml|lock)|Makefile)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CopiedFiles:
    """Which ignored files were copied to the base, and what was not, and why."""

    files: tuple[str, ...] = ()  # below the top of the tree
    left_out: tuple[str, ...] = ()  # that a test might need
    notes: tuple[str, ...] = ()  # a sentence for each reason


def ignored_files(repository: Repository) -> tuple[str, ...]:
    """The ignored files of the user's tree, without environments and bytecode; a nested repository as `a/`."""
    listing = ("ls-files", "--others", "--ignored", "--exclude-standard", "-z")
    paths = repository.git(*listing, timeout_s=SLOW_S).nul_separated
    environments = tuple(path[: -len("pyvenv.cfg")] for path in paths if path.endswith("/pyvenv.cfg"))
    if environments:
        paths = [path for path in paths if not path.startswith(environments)]
    return tuple(path for path in paths if "__pycache__/" not in path)


def is_of_tool(path: str) -> bool:
    """Whether an ignored file is one of a tool, which tests do not need: a cache, a build, a report."""
    *folders, name = path.rstrip("/").split("/")
    in_tool_folder = any(folder in _TOOL_FOLDERS or folder.endswith(".egg-info") for folder in folders)
    return in_tool_folder or name in _TOOL_FOLDERS or bool(_TOOL_FILES.fullmatch(name))


def base_tree_with_ignored_files(
    tree: BaseTree, repository: Repository, *, since_s: float, changed: Sequence[str]
) -> CopiedFiles:
    """Copy the ignored files of the user's tree to the base.

    Not copied is what was modified since `since_s` (seconds since 1970, the start of the failing run), because the
    changed code may have written it; nor extension modules that may be built from a file in `changed` (below the
    top). Small files go first, until a limit is reached.
    """
    sorted_out = _SortedOut(repository.top, since_s, changed)
    for path in ignored_files(repository):
        if not is_of_tool(path):
            sorted_out.add(path)
    copied: list[str] = []
    total_bytes = 0
    for size, path in sorted(sorted_out.wanted):
        total_bytes += size
        if len(copied) >= MAX_FILES or total_bytes > MAX_BYTES:
            sorted_out.leave_out(f"more than {MAX_FILES} files or {MAX_BYTES // 1_000_000} MB", path)
        elif _copy(tree, repository.top / path, tree.top / path):
            copied.append(path)
        else:
            sorted_out.leave_out("could not be copied", path)
    left_out = [path for paths in sorted_out.left_out.values() for path in paths]
    return CopiedFiles(
        files=tuple(sorted(copied)), left_out=tuple(sorted(left_out)), notes=tuple(sorted_out.notes())
    )


class _SortedOut:
    """Ignored files: which are to be copied, and which are left out for which reason."""

    def __init__(self, top: Path, since_s: float, changed: Collection[str]) -> None:
        self._top = top
        self._since_s = since_s
        self._has_native_change = any(_NATIVE_SOURCE.fullmatch(path) for path in changed)
        self._changed_modules = {path[: -len(".py")] for path in changed if path.endswith(".py")}
        self.wanted: list[tuple[int, str]] = []  # size and path
        self.left_out: dict[str, list[str]] = {}  # by reason

    def add(self, path: str) -> None:
        """Decide about a file."""
        try:
            status = os.lstat(self._top / path)
        except OSError:  # removed meanwhile
            return
        if path.endswith("/"):
            self.leave_out("a repository of its own", path)
        elif max(status.st_mtime, status.st_ctime) >= self._since_s:
            self.leave_out("modified since the failing run began", path)
        elif _EXTENSION.search(path) and self._may_be_built_from_change(path):
            self.leave_out("may be built from the change", path)
        else:
            self.wanted.append((status.st_size, path))

    def _may_be_built_from_change(self, path: str) -> bool:
        # mypyc and Cython also compile modules that are written in Python.
        folder, name = os.path.split(path)
        module = os.path.join(folder, name.partition(".")[0])
        of_all_modules = "__mypyc" in name and bool(self._changed_modules)
        return self._has_native_change or of_all_modules or module in self._changed_modules

    def leave_out(self, why: str, path: str) -> None:
        """Note a file that is not copied."""
        self.left_out.setdefault(why, []).append(path)

    def notes(self) -> Iterator[str]:
        """A sentence for each reason."""
        for why, paths in self.left_out.items():
            names = ", ".join(sorted(paths)[:_EXAMPLES])
            more = f" and {len(paths) - _EXAMPLES} more" if len(paths) > _EXAMPLES else ""
            yield f"ignored by git, and not copied to the base ({why}): {names}{more}"


def _copy(tree: BaseTree, source: Path, there: Path) -> bool:
    """Copy one file or link; a link into the user's tree then leads to the same place of the base."""
    with contextlib.suppress(OSError):
        if there.exists() or there.is_symlink():  # the base has a file of this name
            return False
        there.parent.mkdir(parents=True, exist_ok=True)
        if source.is_symlink():
            goal = os.readlink(source)
            there.symlink_to(tree.counterpart(Path(goal)) if os.path.isabs(goal) else goal)
        elif source.is_file():
            shutil.copy2(source, there)
        else:  # a socket or a pipe
            return False
        return True
    return False
