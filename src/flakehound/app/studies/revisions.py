"""The revisions of a project, newest first, all checked out into the same folder one after the other.

They share a folder because what a test depends on is recorded with absolute paths, and is compared with
neighbouring revisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from flakehound.app.triage.change import as_file_change
from flakehound.core.errors import FlakehoundError, Remedy, UsageError, same_command
from flakehound.engine.git import changed_files
from flakehound.engine.git.repository import SLOW_S, NoRepository, Repository, open_repository, run_git
from flakehound.engine.git.revisions import NoSuchRevision
from flakehound.engine.git.worktree import BaseTree, NoTree, temporary_checkout
from flakehound.engine.processes.launch import Target
from flakehound.triage.changes import FileChange

# Files of a virtual environment inside the user's tree do not belong to the project.
_INSTALLED = re.compile(r"/(site-packages|dist-packages|lib/python3\.\d+)/")


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One state of the project."""

    name: str  # for reports
    key: str  # for the history: a commit id, or the path of a release


class RevisionHistory(Protocol):
    """A source of revisions."""

    revisions: Sequence[Revision]  # newest first
    top: Path  # folder of the revision that is checked out, without links
    target: Target  # the suite of the revision that is checked out

    def check_out(self, revision: Revision) -> None:
        """Replace the checked-out revision by this one."""

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """The files that differ between two revisions; may check out another revision."""

    def is_in_user_tree(self, file: str) -> bool:
        """Whether a file belongs to the user's own copy of the project instead of a revision."""


class NoHistory(FlakehoundError):
    """There are no two revisions to compare."""


@dataclass(slots=True)
class GitHistory:
    """Commits along the first parents, checked out into a linked worktree."""

    revisions: Sequence[Revision]
    top: Path
    target: Target
    tree: BaseTree

    def check_out(self, revision: Revision) -> None:
        """Check out a commit, and remove the files that tests of the last one left behind."""
        for words in (("checkout", "--detach", "--force", "--quiet", revision.key), ("clean", "-ffdxq")):
            answer = run_git(self.top, *words, timeout_s=SLOW_S)
            if not answer.succeeded:
                raise NoHistory(f"git could not check {revision.name} out: {answer.problem}")

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """The files that the commits between two revisions changed."""
        self.check_out(newer)
        repository = Repository(top=self.top, head=newer.key)
        changes = changed_files.changed_files(repository, older.key)
        if changes.problem:
            raise NoHistory(changes.problem)
        return [as_file_change(file) for file in changes.files]

    def is_in_user_tree(self, file: str) -> bool:
        """Whether a file belongs to the user's own tree, but not to an environment in it."""
        return self.tree.is_in_user_tree(file) and not _INSTALLED.search(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRange:
    """The commits to study, newest first; their number is one more than that of the changes."""

    repository: Repository
    names: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCommits:
    """Why there are no two revisions to compare."""

    why: str
    remedy: Remedy | None


def commit_range(folder: Path, *, revisions: int, since: str | None) -> CommitRange | NoCommits:
    """The newest commits of the repository that contains a folder."""
    repository = open_repository(folder)
    if isinstance(repository, NoRepository):
        remedy = repository.remedy or same_command(releases="FOLDER-WITH-RELEASES", since=None)
        return NoCommits(why=repository.why, remedy=remedy)
    commits, oldest = repository.head, list[str]()
    if since is not None:
        commit = repository.commit(since)
        if commit is None:
            raise NoSuchRevision(repository, since)
        commits, oldest = f"{commit}..{repository.head}", [commit]
    answer = repository.git("rev-list", "--first-parent", f"--max-count={revisions + 1}", commits, "--")
    names = (answer.text.split() + oldest)[: revisions + 1]
    if len(names) < 2:
        return NoCommits(why=f"{repository.top} has no two revisions to compare", remedy="git log --oneline")
    return CommitRange(repository=repository, names=names)


@contextmanager
def open_git_history(target: Target, commits: CommitRange) -> Iterator[GitHistory]:
    """The history of some commits in a worktree that is removed in the end."""
    with temporary_checkout(commits.repository, commits.names[0]) as tree:
        if isinstance(tree, NoTree):
            raise NoHistory(tree.why)
        yield GitHistory(
            revisions=[Revision(name=commit[:10], key=commit) for commit in commits.names],
            top=tree.top,
            target=_target_in(tree, target),
            tree=tree,
        )


def _target_in(tree: BaseTree, target: Target) -> Target:
    """The same suite in another tree."""
    tree_target = tree.target(target)
    if not tree_target.cwd.is_dir():
        raise UsageError(f"{target.cwd} is in no commit", remedy="git status")
    return tree_target
