"""Files of the user's tree that a checkout of the base lacks although no commit of the change has added them.

Ignored and untracked files, submodules, repositories inside the repository, and what is beside the repository: a
test that needs one of them fails at the base for a reason that it never had where it usually runs.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Iterator
from pathlib import Path

from flakehound.engine.git.ignored_files import ignored_files, is_of_tool
from flakehound.engine.git.repository import SLOW_S
from flakehound.engine.git.worktree import BaseTree

MAX_NESTED_FILES = 20_000  # of submodules and nested repositories
_MAX_FOLDERS_UP = 2  # a relative path that leaves the tree by more is not recognised
_LINK_TO_COMMIT = "160000"  # git's mode of a submodule


class UntrackedFiles:
    """Asks git and the file system when an answer is first needed."""

    def __init__(self, tree: BaseTree) -> None:
        self._tree = tree

    @functools.cached_property
    def ignored(self) -> tuple[str, ...]:
        """The files that git ignores in the user's tree, below the top; empty if there is no git."""
        return () if self._tree.repository is None else ignored_files(self._tree.repository)

    @functools.cached_property
    def not_checked_out(self) -> tuple[str, ...]:
        """Untracked files, and files of submodules and nested repositories, below the top."""
        nested = (*self._submodules, *(path for path in self.ignored if path.endswith("/")))
        files = itertools.chain.from_iterable(map(self._files_below, nested))
        return (*self._untracked, *itertools.islice(files, MAX_NESTED_FILES))

    def missing_at_base(self, path: str) -> str:
        """The file or folder below or beside the user's top that this path of the base lacks; empty: none."""
        below = os.path.relpath(path, self._tree.top)
        parts = below.split(os.sep)
        if parts[:_MAX_FOLDERS_UP] == [os.pardir] * _MAX_FOLDERS_UP and os.pardir in parts[_MAX_FOLDERS_UP:]:
            return ""
        for end in range(1, len(parts) + 1):
            part = os.path.normpath(os.path.join(*parts[:end]))
            if part in self._submodules:
                return f"{part} (a submodule)"
            if parts[end - 1] != os.pardir and not os.path.lexists(self._tree.top / part):
                is_there = part != os.curdir and os.path.lexists(self._tree.user_top / part)
                # Caches come and go; files of a build are looked up among the ignored ones, by their whole path.
                return part if is_there and not is_of_tool(part) and not self._is_tracked(part) else ""
        return ""

    def is_of_git(self, path: str) -> bool:
        """Whether a path is that of git's own files at the top of the base."""
        git = str(self._tree.top / ".git")
        return path == git or path.startswith(git + os.sep)

    @functools.cached_property
    def _submodules(self) -> frozenset[str]:
        """Their folders at the base."""
        tree = self._tree
        if tree.repository is None:
            return frozenset()
        entries = tree.repository.git("ls-tree", "-r", "-z", tree.revision, timeout_s=SLOW_S).nul_separated
        modules = (entry for entry in entries if entry.startswith(_LINK_TO_COMMIT))
        return frozenset(entry.partition("\t")[2] for entry in modules)

    @functools.cached_property
    def _untracked(self) -> tuple[str, ...]:
        if self._tree.repository is None:
            return ()
        listing = ("ls-files", "--others", "--exclude-standard", "-z")
        return tuple(self._tree.repository.git(*listing, timeout_s=SLOW_S).nul_separated)

    def _is_tracked(self, path: str) -> bool:
        """Whether git knows a file of the user's tree, or one below a folder: the change has added it."""
        if self._tree.repository is None:
            return not path.startswith(os.pardir)
        if path.startswith(os.pardir):
            return False
        return bool(self._tree.repository.git("ls-files", "-z", "--", f":(literal){path}").nul_separated)

    def _files_below(self, folder: str) -> Iterator[str]:
        for parent, folders, files in os.walk(self._tree.user_top / folder):
            folders[:] = [name for name in folders if name != ".git"]
            for name in files:
                yield Path(parent, name).relative_to(self._tree.user_top).as_posix()
