"""Run git in the repository that contains a project, without changing its index, branches or stash.

Nothing here raises when git fails or is missing: the reason is returned as text.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.engine.git.ownership import trusted_top

QUICK_S = 30.0
MAX_ANCESTORS = 1000  # of a commit; stored runs of older ones say little about it
MAX_COMPARED_PATHS = 500  # of a change, on one command line
SLOW_S = 300.0  # for commands that read every file of the tree
# Set while git runs a hook; with them our git would use the hook's index, or another tree.
_HOOK_VARIABLES = (
    *("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR"),
    *("GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_EXTERNAL_DIFF", "GIT_DIFF_OPTS"),
)
_OWN_VARIABLES = {
    "LC_ALL": "C",
    "LANGUAGE": "",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}
# The user's hooks must not run because of us, and no daemon may be left behind.
GIT_SETTINGS = ("-c", "core.quotepath=off", "-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false")
_NOT_RUN_CODE = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GitResult:
    """The result of one git command."""

    code: int
    out: bytes
    problem: str = ""  # git's own message when it failed

    @property
    def succeeded(self) -> bool:
        """Whether git exited with code 0."""
        return self.code == 0

    @property
    def text(self) -> str:
        """The output as text, without line ends at its end."""
        return os.fsdecode(self.out).rstrip("\n")

    @property
    def nul_separated(self) -> list[str]:
        """The items in the output of a command with `-z`."""
        return [os.fsdecode(part) for part in self.out.split(b"\0") if part]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRepository:
    """Why there is no repository to use."""

    why: str
    remedy: str | None = None  # a command that helps, if there is one


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """A repository with a working tree and at least one commit."""

    top: Path  # of the working tree, without symbolic links
    head: str  # the commit that is checked out
    is_shallow: bool = False
    is_of_another_user: bool = False  # git would refuse to use it, so each call names it

    def git(self, *arguments: str, timeout_s: float = QUICK_S, stdin: bytes = b"") -> GitResult:
        """Run git in the top folder of the working tree."""
        return run_git(self.top, *self.options, *arguments, timeout_s=timeout_s, stdin=stdin)

    @property
    def options(self) -> tuple[str, ...]:
        """Options of git itself that every call in this repository needs."""
        return _explicit(self.top) if self.is_of_another_user else ()

    def commit(self, revision: str) -> str | None:
        """The full hash of a commit; None if this clone has no such commit."""
        if revision.startswith("-") or not revision.strip():
            return None
        result = self.git("rev-parse", "--verify", "--quiet", f"{revision}^{{commit}}")
        return result.text if result.succeeded else None

    def merge_base(self, revision: str, other: str = "HEAD") -> str | None:
        """The best common ancestor; None if there is none, or a shallow clone lacks it."""
        result = self.git("merge-base", revision, other)
        return result.text.split("\n")[0] if result.succeeded and result.text else None

    def is_ancestor(self, commit: str, other: str = "HEAD") -> bool:
        """Whether a commit is contained in another one, or is the same."""
        return self.git("merge-base", "--is-ancestor", commit, other).succeeded

    def number_of_commits(self) -> int:
        """How many commits led to the checked-out one, as far as this clone has them."""
        result = self.git("rev-list", "--count", "HEAD", timeout_s=SLOW_S)
        return int(result.text) if result.succeeded else 0

    def short(self, commit: str) -> str:
        """The abbreviated hash of a commit."""
        result = self.git("rev-parse", "--short", commit)
        return result.text if result.succeeded else commit[:10]

    def branch(self) -> str:
        """The branch that is checked out; empty in detached HEAD state."""
        result = self.git("symbolic-ref", "--quiet", "--short", "HEAD")
        return result.text if result.succeeded else ""

    def ancestors(self, commit: str) -> frozenset[str]:
        """The commit and the latest commits before it."""
        result = self.git("rev-list", f"--max-count={MAX_ANCESTORS}", commit)
        return frozenset(result.text.split()) if result.succeeded else frozenset()

    def ancestors_with_same_files(self, commit: str, paths: Sequence[str]) -> frozenset[str]:
        """The commit and the latest commits before it that have the same contents at these paths below the top."""
        if len(paths) > MAX_COMPARED_PATHS:
            return frozenset({commit})
        last = self.git("--literal-pathspecs", "rev-list", "--max-count=1", commit, "--", *paths)
        if not last.succeeded or not last.text:
            return self.ancestors(commit) if last.succeeded else frozenset({commit})
        newer = self.git("rev-list", "--ancestry-path", f"--max-count={MAX_ANCESTORS}", f"{last.text}..{commit}")
        return frozenset({last.text, *newer.text.split()}) if newer.succeeded else frozenset({commit})

    def empty_tree(self) -> str:
        """The hash of the tree without files, which exists in every repository."""
        return self.git("hash-object", "-t", "tree", "--stdin", stdin=b"").text


def git_environment() -> dict[str, str]:
    """The environment of every git that we start."""
    return {name: value for name, value in os.environ.items() if name not in _HOOK_VARIABLES} | _OWN_VARIABLES


def run_git(folder: Path, *arguments: str, timeout_s: float = QUICK_S, stdin: bytes = b"") -> GitResult:
    """Run git in a folder; a missing git, a missing folder and a timeout are reported like any failure."""
    env = git_environment()
    command = ["git", *GIT_SETTINGS, *arguments]
    try:
        process = subprocess.run(
            command,
            cwd=folder,
            env=env,
            input=stdin,
            capture_output=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return GitResult(
            code=_NOT_RUN_CODE, out=b"", problem=f"git {_subcommand(arguments)} took longer than {timeout_s:g} s"
        )
    except OSError as error:
        missing = isinstance(error, FileNotFoundError) and folder.is_dir()
        return GitResult(code=_NOT_RUN_CODE, out=b"", problem="git is not installed" if missing else str(error))
    problem = "" if process.returncode == 0 else process.stderr.decode(errors="replace").strip()
    return GitResult(code=process.returncode, out=process.stdout, problem=problem)


def _subcommand(arguments: Sequence[str]) -> str:
    return next((argument for argument in arguments if not argument.startswith("-")), "")


def _explicit(top: Path) -> tuple[str, ...]:
    # Git checks the owner only of a repository that it had to search for. `-c safe.directory` needs git 2.38.
    return f"--git-dir={top / '.git'}", f"--work-tree={top}"


def open_repository(folder: Path) -> Repository | NoRepository:
    """The repository that contains a folder, or why none can be used."""
    result = _locate(folder)
    top = trusted_top(folder) if _is_refused(result) else None
    options = () if top is None else _explicit(top)
    if options:
        result = _locate(folder, *options)
    lines = result.text.split("\n")
    if not result.succeeded or lines[0] != "true":
        return _no_repository(folder, result)
    top = Path(os.path.realpath(lines[2]))
    head = run_git(top, *options, "rev-parse", "--verify", "--quiet", "HEAD^{commit}")
    if not head.succeeded:
        return NoRepository(why=f"the git repository {top} has no commit yet")
    if _is_ignored(folder, *options):
        return NoRepository(why=f"the git repository {top} ignores {folder}, so git does not know what changed")
    is_shallow = lines[1] == "true"
    return Repository(top=top, head=head.text, is_shallow=is_shallow, is_of_another_user=bool(options))


def _locate(folder: Path, *options: str) -> GitResult:
    questions = ("--is-inside-work-tree", "--is-shallow-repository", "--show-toplevel")
    return run_git(folder, *options, "rev-parse", *questions)


def _is_ignored(folder: Path, *options: str) -> bool:
    ignored = run_git(folder, *options, "check-ignore", "--quiet", ".").succeeded
    return ignored and not run_git(folder, *options, "ls-files", ".").out


def _is_refused(result: GitResult) -> bool:
    message = result.problem.lower()
    return "dubious ownership" in message or "unsafe repository" in message


def _no_repository(folder: Path, result: GitResult) -> NoRepository:
    message = result.problem.lower()
    if _is_refused(result):
        remedy = next((line.strip() for line in result.problem.splitlines() if "safe.directory" in line), None)
        return NoRepository(
            why=f"git does not trust the repository of {folder}: another user owns it", remedy=remedy
        )
    if "not a git repository" in message:
        return NoRepository(why=f"{folder} is in no git repository")
    if result.succeeded or "work tree" in message:
        return NoRepository(why=f"the git repository at {folder} has no working tree")
    first = result.problem.splitlines()[0] if result.problem else "git failed"
    return NoRepository(why=first.removeprefix("fatal: "))
