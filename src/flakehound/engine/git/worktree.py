"""Check a revision out beside the user's tree, for as long as it takes to run something there.

A linked worktree in a temporary folder: the user's files, index, branches and stash stay as they are, hooks do not
run, submodules are not fetched. Files that git does not know, built or generated, are not there.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.engine.git.repository import SLOW_S, Repository
from flakehound.engine.processes.launch import Target
from flakehound.engine.suite.open_suite import FOLDER, is_alive

_TREE = "tree"
_PATH_LIMIT_S = 60.0
# Where the interpreter looks for modules, with the folders of editable installs that have a finder of their own.
_ASK_PATH = """
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
    """A revision, checked out apart."""

    repository: Repository
    revision: str
    top: Path  # counterpart of the repository's, without links
    folder: Path  # for whatever else is needed; goes with the tree

    def counterpart(self, path: Path) -> Path:
        """Where a path of the user's tree lies in this one; paths of other places stay."""
        full = Path(os.path.realpath(path))
        inside = full.is_relative_to(self.repository.top)
        return self.top / full.relative_to(self.repository.top) if inside else path

    def is_of_the_user(self, path: str) -> bool:
        """Whether a path lies in the user's tree, where this one's code should have been."""
        top = str(self.repository.top)
        return path.startswith(top + os.sep) and not path.startswith((str(self.top) + os.sep, f"{top}/.git/"))

    def holds_module(self, path: str) -> bool:
        """Whether the revision has the source of a module that is installed at this path below site-packages."""
        for file in self._files.get(os.path.basename(path), ()):
            folder = file[: -len(path)] if file == path or file.endswith(f"/{path}") else None
            # A folder that is a package itself is none from which modules are imported.
            if folder is not None and f"{folder}__init__.py" not in self._files.get("__init__.py", ()):
                return True
        return False

    @functools.cached_property
    def _files(self) -> dict[str, set[str]]:
        """The files of the revision, by their last name."""
        told = self.repository.ask("ls-tree", "-r", "-z", "--name-only", self.revision, timeout_s=SLOW_S)
        found: dict[str, set[str]] = {}
        for file in told.parts:
            found.setdefault(os.path.basename(file), set()).add(file)
        return found

    def target(self, target: Target) -> Target:
        """The same suite as it was: its interpreter finds the project's modules here, not in the user's tree."""
        own = os.environ.get("PYTHONPATH", "") if "PYTHONPATH" not in target.env else target.env["PYTHONPATH"]
        entries = [self._mapped(entry) for entry in own.split(os.pathsep) if entry]
        entries += [str(path) for path in map(self.counterpart, self._import_path(target)) if path.is_dir()]
        below = [entry for entry in dict.fromkeys(entries) if entry.startswith(str(self.top))]
        others = [entry for entry in dict.fromkeys(entries) if entry not in below]
        path = os.pathsep.join([*below, *others])
        return replace(
            target,
            cwd=self.counterpart(target.cwd),
            pytest_args=tuple(map(self._mapped, target.pytest_args)),
            env={**target.env, "PYTHONPATH": path} if path else target.env,
        )

    def _import_path(self, target: Target) -> list[Path]:
        """Folders of the user's tree from which its interpreter imports."""
        try:
            told = subprocess.run(
                [target.python, "-c", _ASK_PATH],
                cwd=target.cwd,
                env={**os.environ, **target.env},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_PATH_LIMIT_S,
                check=True,
            )
            found = [Path(entry) for entry in json.loads(told.stdout.splitlines()[-1])]
        except (OSError, subprocess.SubprocessError, ValueError, IndexError):
            return []
        return [path for path in found if self.is_of_the_user(os.path.join(os.path.realpath(path), ""))]

    def _mapped(self, argument: str) -> str:
        """An argument whose absolute path, alone or behind an equals sign, names the user's tree."""
        for equals in ("", "="):
            option, _sign, value = argument.rpartition(equals) if equals else ("", "", argument)
            path, colons, rest = value.partition("::")
            counterpart = self.counterpart(Path(path)) if os.path.isabs(path) else None
            if counterpart is not None and str(counterpart).startswith(str(self.top)):
                return f"{option}{equals}{counterpart}{colons}{rest}"
        return argument


@contextlib.contextmanager
def checked_out(repository: Repository, revision: str) -> Iterator[BaseTree | NoTree]:
    """A revision in a tree of its own until the block ends, however it ends."""
    _remove_left_behind(repository)
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{FOLDER}{os.getpid()}-")))
    tree = folder / _TREE
    try:
        told = repository.ask("worktree", "add", "--detach", "--quiet", str(tree), revision, timeout_s=SLOW_S)
        if told.is_good:
            yield BaseTree(repository=repository, revision=revision, top=tree, folder=folder)
        else:
            yield NoTree(why=f"git could not check {revision[:10]} out: {told.problem.removeprefix('fatal: ')}")
    finally:
        _remove(repository, tree)
        shutil.rmtree(folder, ignore_errors=True)


def _remove(repository: Repository, tree: Path) -> None:
    # Twice --force: also where a killed `worktree add` has left its lock.
    if not repository.ask("worktree", "remove", "--force", "--force", str(tree), timeout_s=SLOW_S).is_good:
        shutil.rmtree(tree, ignore_errors=True)
        repository.ask("worktree", "remove", "--force", "--force", str(tree))


def _remove_left_behind(repository: Repository) -> None:
    """Remove what a killed process of ours left; never `git worktree prune`, which forgets the user's own too."""
    told = repository.ask("worktree", "list", "--porcelain")
    for line in told.text.split("\n") if told.is_good else ():
        tree = Path(line.removeprefix("worktree "))
        owner = tree.parent.name.removeprefix(FOLDER).partition("-")[0]
        is_ours = tree.name == _TREE and tree.parent.name.startswith(FOLDER) and owner.isdigit()
        if line.startswith("worktree ") and is_ours and not is_alive(int(owner)):
            _remove(repository, tree)
            shutil.rmtree(tree.parent, ignore_errors=True)
