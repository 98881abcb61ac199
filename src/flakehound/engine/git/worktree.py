"""Check out a revision in a temporary folder, to run something there.

A linked worktree: the user's files, index, branches and stash stay as they are, hooks do not run, submodules are
not fetched. Files that git does not track, built or generated, are missing there. Without git, a folder that the
user names is copied.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.engine.git.import_places import ImportPlaces, import_places
from flakehound.engine.git.repository import SLOW_S, Repository
from flakehound.engine.processes.launch import Target
from flakehound.engine.temporary_folders import is_abandoned, new_folder

_TREE = "tree"
# A folder of one of these names belongs to a tool.
_NOT_COPIED = frozenset({".git", ".hg", "node_modules", ".tox", ".nox"})
_ENVIRONMENT_MARKS = ("pyvenv.cfg", "conda-meta")


def is_environment(folder: Path) -> bool:
    """Whether a folder is an environment of Python, and no part of a project."""
    return any((folder / mark).exists() for mark in _ENVIRONMENT_MARKS)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTree:
    """Why a revision could not be checked out."""

    why: str


@dataclass(frozen=True, kw_only=True)
class BaseTree:
    """A revision that is checked out in a temporary folder."""

    repository: Repository | None  # None: a copy of a folder
    user_top: Path  # of the user's tree, without symbolic links
    revision: str  # empty: a copy of a folder
    top: Path  # of the checked out tree, without symbolic links
    folder: Path  # contains the tree and temporary files of runs in it; removed with the tree

    def counterpart(self, path: Path) -> Path:
        """The path in this tree for a path in the user's tree; other paths are returned unchanged."""
        full = Path(os.path.realpath(path))
        is_inside = full.is_relative_to(self.user_top)
        return self.top / full.relative_to(self.user_top) if is_inside else path

    def is_in_user_tree(self, path: str) -> bool:
        """Whether a path is in the user's tree and not in this one."""
        top = str(self.user_top)
        return path.startswith(top + os.sep) and not path.startswith((str(self.top) + os.sep, f"{top}/.git/"))

    def holds_module(self, path: str) -> bool:
        """Whether the revision contains the source of a module installed at this path below site-packages."""
        for file in self._files_by_name.get(os.path.basename(path), ()):
            folder = file[: -len(path)] if file == path or file.endswith(f"/{path}") else None
            # Modules are not imported from a folder that is a package itself.
            if folder is not None and f"{folder}__init__.py" not in self._files_by_name.get("__init__.py", ()):
                return True
        return False

    def holds_folder(self, path: str) -> bool:
        """Whether the revision contains a folder, given below its top."""
        return path in self._folders

    @functools.cached_property
    def _folders(self) -> frozenset[str]:
        folders = {os.path.dirname(file) for files in self._files_by_name.values() for file in files}
        while parents := {os.path.dirname(folder) for folder in folders} - folders:
            folders |= parents
        return frozenset(folders)

    @functools.cached_property
    def _files_by_name(self) -> dict[str, set[str]]:
        """The paths of all files of the revision, by file name."""
        if self.repository is None:
            files = [path.relative_to(self.top).as_posix() for path in self.top.rglob("*") if path.is_file()]
        else:
            tree = ("ls-tree", "-r", "-z", "--name-only", self.revision)
            files = self.repository.git(*tree, timeout_s=SLOW_S).nul_separated
        paths: dict[str, set[str]] = {}
        for file in files:
            paths.setdefault(os.path.basename(file), set()).add(file)
        return paths

    def target(self, target: Target, places: ImportPlaces | None = None) -> Target:
        """The same suite at this revision: its interpreter imports the project's modules from here.

        `places` is where the interpreter imports from; None: it is asked.
        """
        places = import_places(target) if places is None else places
        python_path = (
            os.environ.get("PYTHONPATH", "") if "PYTHONPATH" not in target.env else target.env["PYTHONPATH"]
        )
        entries = [self.map_argument(entry) for entry in python_path.split(os.pathsep) if entry]
        folders = [path for path in map(Path, places.folders) if self._is_folder_of_user(path)]
        entries += [str(path) for path in map(self.counterpart, folders) if path.is_dir()]
        in_tree = [entry for entry in dict.fromkeys(entries) if entry.startswith(str(self.top))]
        other_entries = [entry for entry in dict.fromkeys(entries) if entry not in in_tree]
        path = os.pathsep.join([*in_tree, *other_entries])
        return replace(
            target,
            cwd=self.counterpart(target.cwd),
            pytest_args=tuple(map(self.map_argument, target.pytest_args)),
            env={**target.env, "PYTHONPATH": path} if path else target.env,
        )

    def _is_folder_of_user(self, folder: Path) -> bool:
        return self.is_in_user_tree(os.path.join(os.path.realpath(folder), ""))

    def map_argument(self, argument: str) -> str:
        """An argument whose absolute path, alone, after an equals sign or after `-c`, is mapped to this tree."""
        for equals in ("", "=", "-c"):
            option, _sign, value = argument.rpartition(equals) if equals else ("", "", argument)
            if equals == "-c" and option:
                continue
            path, colons, rest = value.partition("::")
            counterpart = self.counterpart(Path(path)) if os.path.isabs(path) else None
            if counterpart is not None and str(counterpart).startswith(str(self.top)):
                return f"{option}{equals}{counterpart}{colons}{rest}"
        return argument


@contextlib.contextmanager
def temporary_checkout(repository: Repository, revision: str) -> Iterator[BaseTree | NoTree]:
    """Check out a revision until the `with` block ends."""
    _remove_abandoned_trees(repository)
    folder = Path(os.path.realpath(new_folder()))
    tree = _tree_in(folder, repository.top)
    try:
        tree.parent.mkdir()
        add = ("worktree", "add", "--detach", "--quiet", str(tree), revision)
        added = repository.git("-c", "checkout.workers=0", *add, timeout_s=SLOW_S)
        if added.succeeded:
            yield BaseTree(
                repository=repository, user_top=repository.top, revision=revision, top=tree, folder=folder
            )
        else:
            yield NoTree(why=f"git could not check {revision[:10]} out: {added.problem.removeprefix('fatal: ')}")
    finally:
        _remove(repository, tree)
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def folder_checkout(base: Path, user_top: Path) -> Iterator[BaseTree | NoTree]:
    """Copy a folder that holds the base, without its environments, until the `with` block ends.

    A copy, because runs write files. `user_top` is the top of the user's tree, which has the change.
    """
    folder = Path(os.path.realpath(new_folder()))
    user_top, base = Path(os.path.realpath(user_top)), Path(os.path.realpath(base))
    tree = _tree_in(folder, user_top)
    try:
        if not base.is_dir():
            yield NoTree(why=f"{base} is no folder")
        elif base == user_top:
            yield NoTree(why=f"{base} is the changed tree itself")
        else:
            problem = _copy_tree(base, tree)
            made = BaseTree(repository=None, user_top=user_top, revision="", top=tree, folder=folder)
            yield NoTree(why=f"{base} could not be copied: {problem}") if problem else made
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _tree_in(folder: Path, user_top: Path) -> Path:
    # A test may read the name of the project's folder.
    return folder / _TREE / (user_top.name or _TREE)


def _copy_tree(base: Path, tree: Path) -> str:
    """Copy a folder without environments and files of tools; returns the problem."""

    def left_out(folder: str, names: list[str]) -> list[str]:
        return [name for name in names if name in _NOT_COPIED or is_environment(Path(folder, name))]

    try:
        shutil.copytree(base, tree, symlinks=True, ignore=left_out)
    except (shutil.Error, OSError) as error:
        return str(error)[:500]
    return ""


def _remove(repository: Repository, tree: Path) -> None:
    # `--force` twice also removes a tree that a killed `worktree add` has left locked.
    if not repository.git("worktree", "remove", "--force", "--force", str(tree), timeout_s=SLOW_S).succeeded:
        shutil.rmtree(tree, ignore_errors=True)
        repository.git("worktree", "remove", "--force", "--force", str(tree))


def _remove_abandoned_trees(repository: Repository) -> None:
    """Remove trees of killed processes of ours; `git worktree prune` would affect the user's trees too."""
    result = repository.git("worktree", "list", "--porcelain")
    for line in result.text.split("\n") if result.succeeded else ():
        tree = Path(line.removeprefix("worktree "))
        if line.startswith("worktree ") and tree.parent.name == _TREE and is_abandoned(tree.parent.parent):
            _remove(repository, tree)
            shutil.rmtree(tree.parent.parent, ignore_errors=True)
