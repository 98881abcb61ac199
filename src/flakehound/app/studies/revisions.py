"""The revisions of a project, newest first, each laid out in the same folder when its turn comes.

The same folder, because what a test depends on is told in absolute paths and has to hold for its neighbours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
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

_INSTALLED = re.compile(r"/(site-packages|dist-packages|lib/python3\.\d+)/")  # an environment may lie in the tree


@dataclass(frozen=True, slots=True, kw_only=True)
class Revision:
    """One state of the project."""

    name: str  # as people say it
    key: str  # as its history finds it


class RevisionHistory(Protocol):
    """Where revisions come from."""

    revisions: Sequence[Revision]  # newest first
    top: Path  # where the one that is checked out lies, without links
    target: Target  # its suite

    def check_out(self, revision: Revision) -> None:
        """Lay a revision out, and nothing else of the project."""

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """What differs between two revisions; may lay another one out."""

    def is_foreign(self, file: str) -> bool:
        """Whether a file belongs to the project as the user has it, not to a revision."""


class NoHistory(FlakehoundError):
    """There are no two revisions to compare."""


@dataclass(slots=True)
class GitHistory:
    """Commits along the first parents, in a linked worktree of their own."""

    revisions: Sequence[Revision]
    top: Path
    target: Target
    tree: BaseTree

    def check_out(self, revision: Revision) -> None:
        """Lay a commit out; what the tests of the last one left behind goes."""
        for words in (("checkout", "--detach", "--force", "--quiet", revision.key), ("clean", "-ffdxq")):
            told = run_git(self.top, *words, timeout_s=SLOW_S)
            if not told.succeeded:
                raise NoHistory(f"git could not check {revision.name} out: {told.problem}")

    def changes(self, older: Revision, newer: Revision) -> list[FileChange]:
        """What the commits between two of them changed."""
        self.check_out(newer)
        here = replace(self.tree.repository, top=self.top, head=newer.key)
        told = changed_files.changed_files(here, older.key)
        if told.problem:
            raise NoHistory(told.problem)
        return [as_file_change(file) for file in told.files]

    def is_foreign(self, file: str) -> bool:
        """Whether a file lies in the user's own tree."""
        return self.tree.is_in_user_tree(file) and not _INSTALLED.search(file)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitRange:
    """The commits to study, newest first; one more than there are changes."""

    repository: Repository
    names: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class NoCommits:
    """Why there are no two revisions to compare."""

    why: str
    remedy: Remedy | None


def commit_range(folder: Path, *, revisions: int, since: str | None) -> CommitRange | NoCommits:
    """The history of the repository that holds a folder."""
    repository = open_repository(folder)
    if isinstance(repository, NoRepository):
        remedy = repository.remedy or same_command(releases="FOLDER-WITH-RELEASES", since=None)
        return NoCommits(why=repository.why, remedy=remedy)
    reach, oldest = [repository.head], list[str]()
    if since is not None:
        commit = repository.commit(since)
        if commit is None:
            raise NoSuchRevision(repository, since)
        reach, oldest = [f"{commit}..{repository.head}"], [commit]
    told = repository.git("rev-list", "--first-parent", f"--max-count={revisions + 1}", *reach, "--")
    names = (told.text.split() + oldest)[: revisions + 1]
    if len(names) < 2:
        return NoCommits(why=f"{repository.top} has no two revisions to compare", remedy="git log --oneline")
    return CommitRange(repository=repository, names=names)


@contextmanager
def open_git_history(target: Target, commits: CommitRange) -> Iterator[GitHistory]:
    """Commits, one after the other in a worktree that goes in the end."""
    with temporary_checkout(commits.repository, commits.names[0]) as tree:
        if isinstance(tree, NoTree):
            raise NoHistory(tree.why)
        yield GitHistory(
            revisions=[Revision(name=commit[:10], key=commit) for commit in commits.names],
            top=tree.top,
            target=_suite_in(tree, target),
            tree=tree,
        )


def _suite_in(tree: BaseTree, target: Target) -> Target:
    there = tree.target(target)
    if not there.cwd.is_dir():
        raise UsageError(f"{target.cwd} is in no commit", remedy="git status")
    return there
