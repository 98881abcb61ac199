"""Ask git about the repository that holds a project; never a word to the user's index, branches or stash.

Nothing here raises because of what git says or lacks: the reason comes back as text.
"""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

QUICK_S = 30.0
SLOW_S = 300.0  # looks at every file of the tree
# Set while git runs a hook; they would make our git work on the hook's index, or in another tree.
_OF_HOOKS = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
)
_OURS = {
    "LC_ALL": "C",
    "LANGUAGE": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
# The user's hooks must not run because of us, and no daemon stay behind.
_SETTINGS = ("-c", "core.quotepath=off", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_NOT_DONE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What one call of git brought."""

    code: int
    out: bytes
    problem: str = ""  # git's own words when it failed

    @property
    def is_good(self) -> bool:
        """Whether git did what it was asked for."""
        return self.code == 0

    @property
    def text(self) -> str:
        """The output as text, without the last line's end."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def parts(self) -> list[str]:
        """The output of a call with -z."""
        return [os.fsdecode(part) for part in self.out.split(b"\0") if part]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRepository:
    """Why there is no repository to ask."""

    why: str
    remedy: str | None = None  # a command, where one helps


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with a working tree and at least one commit."""

    top: Path  # of the working tree, without links
    head: str  # the commit that is checked out
    is_shallow: bool = False

    def ask(self, *arguments: str, timeout_s: float = QUICK_S, given: bytes = b"") -> Told:
        """Call git at the top of the tree."""
        return call_git(self.top, *arguments, timeout_s=timeout_s, given=given)

    def commit(self, revision: str) -> str | None:
        """The full name of a commit; None: there is no such commit here."""
        if revision.startswith("-") or not revision.strip():
            return None
        told = self.ask("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return told.text if told.is_good else None

    def merge_base(self, one: str, other: str = "HEAD") -> str | None:
        """The best common ancestor; None where there is none, or a shallow clone lacks it."""
        told = self.ask("merge-base", one, other)
        return told.text.split("\n")[0] if told.is_good and told.text else None

    def short(self, commit: str) -> str:
        """A commit's short name."""
        told = self.ask("rev-parse", "--short", commit)
        return told.text if told.is_good else commit[:10]

    def branch(self) -> str:
        """The branch that is checked out; empty when none is."""
        told = self.ask("symbolic-ref", "--quiet", "--short", "HEAD")
        return told.text if told.is_good else ""

    def commits_since(self, base: str) -> frozenset[str]:
        """The commits that led from the base to here."""
        told = self.ask("rev-list", f"{base}..HEAD")
        return frozenset(told.text.split()) if told.is_good else frozenset()

    def empty_tree(self) -> str:
        """The name of the tree without files, which every repository knows."""
        return self.ask("hash-object", "-t", "tree", "--stdin", given=b"").text


def call_git(folder: Path, *arguments: str, timeout_s: float = QUICK_S, given: bytes = b"") -> Told:
    """Call git in a folder; a missing git, a folder that is gone and a timeout are told like any failure."""
    env = {name: value for name, value in os.environ.items() if name not in _OF_HOOKS} | _OURS
    command = ["git", *_SETTINGS, *arguments]
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=env,
            input=given,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return Told(code=_NOT_DONE, out=b"", problem=f"git {arguments[0]} took longer than {timeout_s:g} s")
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and folder.is_dir()
        return Told(code=_NOT_DONE, out=b"", problem="git is not installed" if missing else str(error))
    problem = "" if done.returncode == 0 else done.stderr.decode(errors="replace").strip()
    return Told(code=done.returncode, out=done.stdout, problem=problem)


def open_repository(folder: Path) -> Repository | NoRepository:
    """The repository that holds a folder, or why there is none to compare with."""
    told = call_git(folder, "rev-parse", "--is-inside-work-tree", "--is-shallow-repository", "--show-toplevel")
    lines = told.text.split("\n")
    if not told.is_good or lines[0] != "true":
        return _no_repository(folder, told)
    top = Path(os.path.realpath(lines[2]))
    head = call_git(top, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head.is_good:
        return NoRepository(why=f"the git repository {top} has no commit yet")
    if call_git(folder, "check-ignore", "--quiet", ".").is_good and not call_git(folder, "ls-files", ".").out:
        return NoRepository(why=f"the git repository {top} ignores {folder}, so git does not know what changed")
    return Repository(top=top, head=head.text, is_shallow=lines[1] == "true")


def _no_repository(folder: Path, told: Told) -> NoRepository:
    words = told.problem.lower()
    if "dubious ownership" in words or "unsafe repository" in words:
        remedy = next((line.strip() for line in told.problem.splitlines() if "safe.directory" in line), None)
        return NoRepository(
            why=f"git does not trust the repository of {folder}: another user owns it", remedy=remedy
        )
    if "not a git repository" in words:
        return NoRepository(why=f"{folder} is in no git repository")
    if told.is_good or "work tree" in words:
        return NoRepository(why=f"the git repository at {folder} has no working tree")
    first = told.problem.splitlines()[0] if told.problem else "git failed"
    return NoRepository(why=first.removeprefix("fatal: "))
