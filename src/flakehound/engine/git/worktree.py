"""Check out a revision in a temporary folder, to run something there.

A linked worktree: the user's files, index, branches and stash stay as they are, hooks do not run, submodules are
not fetched. Files that git does not track, built or generated, are missing there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.engine.git.repository import SLOW_S, Repository
from flakehound.engine.processes.launch import Target
from flakehound.engine.temporary_folders import is_abandoned, new_folder

_TREE = "tree"
_PATH_LIMIT_S = 60.0
# Prints the folders in which the interpreter looks for modules, including those of editable installs.
_PRINT_PATH = """
import json, sys
found = [entry for entry in sys.path if entry]
for name, module in list(sys.modules.items()):
    if name.startswith("__editable__"):
        for place in dict(getattr(module, "MAPPING", None) or {}).values():
            found.append(place.rpartition("/")[0])
        for places in dict(getattr(module, "NAMESPACES", None) or {}).values():
            found.extend(place.rpartition("/")[0] for place in places)
print(json.dumps(found))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class NoTree:
    """Why a revision could not be checked out."""

    why: str


@dataclass(frozen=True, kw_only=True)
class BaseTree:
    """A revision that is checked out in a temporary folder."""

    repository: Repository
    revision: str
    top: Path  # of the checked out tree, without symbolic links
    folder: Path  # contains the tree and temporary files of runs in it; removed with the tree

    def counterpart(self, path: Path) -> Path:
        """The path in this tree for a path in the user's tree; other paths are returned unchanged."""
        full = Path(os.path.realpath(path))
        is_inside = full.is_relative_to(self.repository.top)
        return self.top / full.relative_to(self.repository.top) if is_inside else path

    def is_in_user_tree(self, path: str) -> bool:
        """Whether a path is in the user's tree and not in this one."""
        top = str(self.repository.top)
        return path.startswith(top + os.sep) and not path.startswith((str(self.top) + os.sep, f"{top}/.git/"))

    def holds_module(self, path: str) -> bool:
        """Whether the revision contains the source of a module installed at this path below site-packages."""
        for file in self._files_by_name.get(os.path.basename(path), ()):
            folder = file[: -len(path)] if file == path or file.endswith(f"/{path}") else None
            # Modules are not imported from a folder that is a package itself.
            if folder is not None and f"{folder}__init__.py" not in self._files_by_name.get("__init__.py", ()):
                return True
        return False

    @functools.cached_property
    def _files_by_name(self) -> dict[str, set[str]]:
        """The paths of all files of the revision, by file name."""
        result = self.repository.git("ls-tree", "-r", "-z", "--name-only", self.revision, timeout_s=SLOW_S)
        paths: dict[str, set[str]] = {}
        for file in result.nul_separated:
            paths.setdefault(os.path.basename(file), set()).add(file)
        return paths

    def target(self, target: Target) -> Target:
        """The same suite at this revision: its interpreter imports the project's modules from here."""
        python_path = (
            os.environ.get("PYTHONPATH", "") if "PYTHONPATH" not in target.env else target.env["PYTHONPATH"]
        )
        entries = [self._map_argument(entry) for entry in python_path.split(os.pathsep) if entry]
        entries += [str(path) for path in map(self.counterpart, self._import_path(target)) if path.is_dir()]
        in_tree = [entry for entry in dict.fromkeys(entries) if entry.startswith(str(self.top))]
        other_entries = [entry for entry in dict.fromkeys(entries) if entry not in in_tree]
        path = os.pathsep.join([*in_tree, *other_entries])
        return replace(
            target,
            cwd=self.counterpart(target.cwd),
            pytest_args=tuple(map(self._map_argument, target.pytest_args)),
            env={**target.env, "PYTHONPATH": path} if path else target.env,
        )

    def _import_path(self, target: Target) -> list[Path]:
        """Folders of the user's tree from which its interpreter imports."""
        try:
            result = subprocess.run(
                [target.python, "-c", _PRINT_PATH],
                cwd=target.cwd,
                env={**os.environ, **target.env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATH_LIMIT_S,
                check=True,
            )
            entries = [Path(entry) for entry in json.loads(result.stdout.splitlines()[-1])]
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            return []
        return [path for path in entries if self.is_in_user_tree(os.path.join(os.path.realpath(path), ""))]

    def _map_argument(self, argument: str) -> str:
        """An argument whose absolute path, alone or after an equals sign, is mapped to this tree."""
        for equals in ("", "="):
            option, _sign, value = argument.rpartition(equals) if equals else ("", "", argument)
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
    tree = folder / _TREE
    try:
        added = repository.git("worktree", "add", "--detach", "--quiet", str(tree), revision, timeout_s=SLOW_S)
        if added.succeeded:
            yield BaseTree(repository=repository, revision=revision, top=tree, folder=folder)
        else:
            yield NoTree(why=f"git could not check {revision[:10]} out: {added.problem.removeprefix('fatal: ')}")
    finally:
        _remove(repository, tree)
        shutil.rmtree(folder, ignore_errors=True)


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
        if line.startswith("worktree ") and tree.name == _TREE and is_abandoned(tree.parent):
            _remove(repository, tree)
            shutil.rmtree(tree.parent, ignore_errors=True)
