"""Which revision a change is compared with, and why that one.

A base that is too old only makes the change larger, which is safe; a base that hides part of the change is not.
A base that may hide something is called doubtful, with the reason. On a build server the commit that is checked
out is never the base, even if the build left files in its tree.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from flakehound.core.errors import UsageError
from flakehound.engine.git.branches import (
    MAX_BRANCHES,
    Branches,
    is_remote,
    oldest_branch_point,
    read_branches,
    short_name,
    usable_points,
)
from flakehound.engine.git.changed_files import is_dirty
from flakehound.engine.git.missing_history import MissingHistory
from flakehound.engine.git.repository import Repository
from flakehound.engine.git.server_bases import BuildServer, ServerBase, build_server

_LAST_PUSH = "the last push before this one"


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What to compare with: a commit, the empty tree, or a folder."""

    revision: str  # the full hash of a commit; of the empty tree, or of the folder's path, if not `is_commit`
    name: str  # for the user
    why: str  # a clause: what it is, and where it comes from
    is_commit: bool = True
    doubt: str = ""  # why it may not lack the whole change; part of a sentence, empty: it lacks it
    is_last_commit: bool = False  # there is no other point to compare with than the commit before the last one
    notes: tuple[str, ...] = ()  # what the user should know or do to get a better base
    folder: Path | None = None  # contains the project without the change; see `folder_bases.py`
    folder_of: Path | None = None  # the folder of the user's tree that `folder` is the earlier version of


class NoSuchRevision(UsageError):
    """The user named a revision that this clone lacks."""

    def __init__(self, repository: Repository, revision: str) -> None:
        shallow = " (this clone is shallow)" if repository.is_shallow else ""
        remedy = "git fetch --unshallow" if repository.is_shallow else "git log --oneline --all --max-count=20"
        super().__init__(f"{revision!r} is no commit of {repository.top}{shallow}", remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A base, and what a better one needs that the clone lacks."""

    base: Base
    is_branch_point: bool = False  # from the default branch, or from all others
    is_default: bool = False  # the checked-out commit belongs to the default branch
    wanted_branches: tuple[str, ...] = ()
    wanted_commits: tuple[str, ...] = ()
    wants_default: bool = False  # no branch is known as the default branch

    def is_improvable(self, repository: Repository) -> bool:
        """Whether more commits may give a better base."""
        wanted = self.wanted_branches or self.wanted_commits or self.wants_default or repository.is_shallow
        return bool(wanted) and (bool(self.base.doubt) or not self.base.is_commit)


def base_revision(
    repository: Repository,
    *,
    since: str | None = None,
    env: Mapping[str, str] = os.environ,
    excluded: Collection[Path] = (),
) -> Base:
    """The base that the user names, else that of the build server, else the branch point from the default."""
    server = build_server(env, repository.head)
    branches = read_branches(repository, built=server.branch)
    history = MissingHistory(repository=repository, remote=next(iter(branches.remotes), ""), env=env)
    if since is not None:
        return _asked_base(repository, since, history)
    found = _Search(repository, branches, server, excluded).found()
    while found.is_improvable(repository) and history.may_fetch:
        if found.wants_default and not server.default_branch:
            server = replace(server, default_branch=history.default_branch())
        wanted = (*found.wanted_branches, *([server.default_branch] if found.wants_default else []))
        if not history.fetch(wanted, found.wanted_commits):
            break
        repository = history.repository = _reopened(repository)
        branches = read_branches(repository, built=server.branch)
        found = _Search(repository, branches, server, excluded).found()
    return found.base


def _reopened(repository: Repository) -> Repository:
    shallow = repository.git("rev-parse", "--is-shallow-repository")
    return replace(repository, is_shallow=shallow.text == "true")


def _asked_base(repository: Repository, since: str, history: MissingHistory) -> Base:
    commit = repository.commit(since)
    while commit is None and not since.startswith("-") and history.may_fetch:
        branch = since.removeprefix(f"{history.remote}/")
        names = [since] if _is_hash(since) else []
        history.fetch([] if names else [branch], names)
        commit = repository.commit(since) or repository.commit(f"refs/flakehound/{history.remote}/{branch}")
    if commit is None:
        raise NoSuchRevision(repository, since)
    return Base(revision=commit, name=since, why=f"compared with {since}, as asked")


def _is_hash(name: str) -> bool:
    return len(name) in (40, 64) and not name.strip("0123456789abcdefABCDEF")


class _Search:
    """The search for a base in what the clone has."""

    def __init__(
        self, repository: Repository, branches: Branches, server: BuildServer, excluded: Collection[Path]
    ) -> None:
        self._repository = repository
        self._branches = branches
        self._server = server
        self._excluded = excluded

    def found(self) -> _Found:
        """The base that the build server names, else that of the branch."""
        missing: list[ServerBase] = []
        for target in self._server.targets:
            commit = self._commit_of(target)
            if commit is None:
                missing.append(target)
            elif commit != self._repository.head:
                left = f"where this branch left {target.description}" if target.branch else target.description
                return _Found(base=self._base(commit, left))
        found = self._of_push() if self._server.before else self._of_branch()
        if not missing:
            return found
        # Only the first: the other bases would only have replaced it.
        return replace(
            found,
            base=self._with_missing(found.base, missing[0].description, missing[0].branch),
            wanted_branches=tuple(target.branch for target in missing if target.branch),
            wanted_commits=tuple(target.revision for target in missing if _is_hash(target.revision)),
        )

    @property
    def _remote(self) -> str:
        return next(iter(self._branches.remotes), "origin")

    def _with_missing(self, base: Base, what: str, branch: str = "") -> Base:
        unshallow = ["--unshallow"] if self._repository.is_shallow else []
        refspec = [self._remote, f"{branch}:refs/remotes/{self._remote}/{branch}"] if branch else []
        command = shlex.join(["git", "fetch", *unshallow, *refspec])
        doubt = f"{what}{',' if ',' in what else ''} is not in this clone"
        return replace(base, doubt=doubt, notes=(f"{doubt}; to compare with it: {command}",))

    def _commit_of(self, target: ServerBase) -> str | None:
        if target.needs_merge and self._repository.commit("HEAD^2") is None:
            return None
        if not target.branch:
            commit = self._repository.commit(target.revision)
            return self._repository.merge_base(commit) if commit else None
        points = [self._repository.merge_base(name) for name in self._branches.references(target.branch)]
        return next(filter(None, points), None)

    def _of_push(self) -> _Found:
        """The base of a push: the branch point if there is one, because earlier pushes are part of the change."""
        found = self._of_branch()
        commit = self._repository.commit(self._server.before)
        before = self._repository.merge_base(commit) if commit else None
        if found.is_branch_point and not found.base.doubt:
            return found
        if before == self._repository.head:
            return found
        if before is None:
            base = self._with_missing(found.base, _LAST_PUSH)
            return replace(found, base=base, wanted_commits=(self._server.before,))
        where = _LAST_PUSH if before == commit else f"where this branch left {_LAST_PUSH}"
        # Of the default branch, everything that was pushed before is not part of the change.
        return replace(found, base=self._base(before, where, "" if found.is_default else found.base.doubt))

    def _of_branch(self) -> _Found:
        """The base without information about a pull request or a push."""
        named, current = self._server.default_branch, self._branches.current
        is_lost = bool(named) and named != current and not self._branches.references(named)
        doubt = f"the default branch, {named}, is not in this clone" if is_lost else ""
        for name in self._branches.default_names(named):
            points = dict(usable_points(self._repository, self._branches, name))
            for reference, point in points.items():
                if point != self._repository.head:
                    base = self._base(point, f"where this branch left {short_name(reference)}", doubt)
                    return _Found(base=base, is_branch_point=True, wants_default=is_lost)
            if name != current and points and self._branches.is_vague(name) and name != named:
                break
            if name == current or points:
                return self._on_default(doubt)
        return self._without_default()

    def _on_default(self, doubt: str) -> _Found:
        branches, note = self._branches, ""
        is_named = bool(branches.remote_defaults) or branches.current == self._server.default_branch
        is_lonely = branches.is_single and not is_named
        if self._repository.is_shallow:
            doubt = f"this clone has only {self._commits()}"
        elif is_lonely:
            doubt, note = f"this clone has only the branch {branches.current}", self._fetch_all
        elif self._server.is_present and branches.remotes and not doubt:
            doubt = "the build server does not say which commits were pushed"
        base = self._last_commit(doubt, note)
        return _Found(base=base, is_default=not is_lonely, wants_default=is_lonely)

    def _without_default(self) -> _Found:
        branches, others = self._branches, self._branches.others()
        point = oldest_branch_point(self._repository, branches)
        doubt, note = "", self._fetch_all if branches.remotes else ""
        if not branches.current:
            doubt = "no branch is checked out, and the default branch is not known"
        elif branches.is_single:
            doubt = f"this clone has only the branch {branches.current}"
        elif point is None and self._repository.is_shallow:
            doubt = f"this clone has only {self._commits()}"
        elif branches.remotes and not any(map(is_remote, others)):
            doubt = "the default branch is not in this clone"
        elif len(others) > MAX_BRANCHES or (others and point is None):
            doubt = f"none of {len(others) + 1} branches is known as the default branch"
        if point is None:
            return _Found(base=self._last_commit(doubt, note), wants_default=bool(branches.remotes))
        base = self._base(point, "where this branch and the others divided", doubt, note)
        return _Found(base=base, is_branch_point=True, wants_default=bool(branches.remotes))

    @property
    def _fetch_all(self) -> str:
        """The command that gets all branches."""
        unshallow = ["--unshallow"] if self._repository.is_shallow else []
        pattern = f"+refs/heads/*:refs/remotes/{self._remote}/*"
        return shlex.join(["git", "fetch", *unshallow, self._remote, pattern])

    def _last_commit(self, doubt: str, command: str = "") -> Base:
        """The commit before the last one; if there is none, the last one or nothing."""
        parent = self._repository.commit("HEAD~1")
        is_shallow = self._repository.is_shallow
        if is_shallow and not command:
            command = "git fetch --unshallow"
        if parent is not None:
            return replace(self._base(parent, "before the last commit", doubt, command), is_last_commit=True)
        if not self._server.is_present and is_dirty(self._repository, excluded=self._excluded):
            # Nothing is older in the whole history.
            return self._base(self._repository.head, "the only commit", doubt, command)
        missing = "not in this clone, so every file counts as changed" if is_shallow else "none, this is the first"
        return Base(
            revision=self._repository.empty_tree(),
            name="nothing",
            why=f"compared with nothing: the commit before this one is {missing}",
            is_commit=False,
            doubt=doubt,
            notes=_notes(doubt, command),
        )

    def _commits(self) -> str:
        number = self._repository.number_of_commits()
        return f"{number} commit{'' if number == 1 else 's'}"

    def _base(self, commit: str, where: str, doubt: str = "", command: str = "") -> Base:
        name = self._repository.short(commit)
        notes = _notes(doubt, command)
        return Base(revision=commit, name=name, why=f"compared with {name}, {where}", doubt=doubt, notes=notes)


def _notes(doubt: str, command: str) -> tuple[str, ...]:
    """How the user gets rid of a doubt: by a command, or by naming the base."""
    if not doubt:
        return ()
    remedy = f"to get the rest: {command}" if command else "to name the base: --flakehound-since=REV"
    return (f"{doubt}; {remedy}",)
