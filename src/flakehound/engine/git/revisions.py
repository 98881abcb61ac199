"""Which revision a change is compared with, and why that one.

An older base than needed only makes the change larger, which is safe; one that hides a part of the change is not.
So on a build server the commit that is checked out is never the base, whatever files the build left in its tree.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from flakehound.core.errors import UsageError
from flakehound.engine.git.changed_files import is_dirty
from flakehound.engine.git.repository import Repository

_SERVERS = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The revision to compare with."""

    revision: str  # the full name of a commit; of the empty tree where `is_commit` is False
    name: str  # for the user
    why: str  # a sentence
    is_commit: bool = True
    notes: tuple[str, ...] = ()  # what the user should know or do to get a better base


class NoSuchRevision(UsageError):
    """The user named a revision that this clone lacks."""

    def __init__(self, repository: Repository, revision: str) -> None:
        shallow = " (this clone is shallow)" if repository.is_shallow else ""
        remedy = "git fetch --unshallow" if repository.is_shallow else "git log --oneline --all --max-count=20"
        super().__init__(f"{revision!r} is no commit of {repository.top}{shallow}", remedy=remedy)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wish:
    """A base that the environment of a build names."""

    revisions: tuple[str, ...]  # the first that exists
    what: str
    branches_off: bool = False  # where the build's branch left it, not the commit itself
    fetched: tuple[str, ...] = ()  # what to ask the remote repository for


def base_revision(
    repository: Repository,
    *,
    since: str | None = None,
    env: Mapping[str, str] = os.environ,
    besides: Collection[Path] = (),
) -> Base:
    """The base: as the user says, else as the build server says, else where the branch left the default branch."""
    if since is not None:
        commit = repository.commit(since)
        if commit is None:
            raise NoSuchRevision(repository, since)
        return Base(revision=commit, name=since, why=f"compared with {since}, as asked")
    missing: list[str] = []
    for wish in _wishes(env):
        found = _wished(repository, wish)
        if found is None:
            missing.append(f"{wish.what} is not in this clone; to compare with it: {_fetching(repository, wish)}")
        elif found != repository.head:
            name = repository.short(found)
            where = f"where this branch left {wish.what}" if wish.branches_off else wish.what
            return Base(revision=found, name=name, why=f"compared with {name}, {where}")
    on_server = any(env.get(name, "").lower() not in ("", "0", "false") for name in _SERVERS)
    own = _own_base(repository, on_server, besides)
    # Only the first: the others are substitutes for it.
    return replace(own, notes=(*missing[:1], *own.notes))


def _wished(repository: Repository, wish: _Wish) -> str | None:
    commit = next(filter(None, map(repository.commit, wish.revisions)), None)
    return repository.merge_base(commit) if commit and wish.branches_off else commit


def _fetching(repository: Repository, wish: _Wish) -> str:
    depth = [] if not repository.is_shallow else ["--deepen=50" if wish.branches_off else "--depth=1"]
    return shlex.join(["git", "fetch", *depth, "origin", *wish.fetched])


def _wishes(env: Mapping[str, str]) -> Iterator[_Wish]:
    yield from _of_github(env)
    yield from _of_gitlab(env)
    target = env.get("SYSTEM_PULLREQUEST_TARGETBRANCH", "").removeprefix("refs/heads/")
    if target:
        yield _branch(target, "the pull request's target")


def _of_github(env: Mapping[str, str]) -> Iterator[_Wish]:
    event = _event(env.get("GITHUB_EVENT_PATH", ""))
    branch = env.get("GITHUB_BASE_REF", "")
    if branch:
        yield _branch(branch, "the pull request's base")
        tip = _text(event, "pull_request", "base", "sha")
        if tip:
            yield _Wish(revisions=(tip,), what="the pull request's base", branches_off=True, fetched=(tip,))
        if env.get("GITHUB_REF", "").endswith("/merge"):
            yield _Wish(revisions=("HEAD^1",), what="the pull request's base")
    elif _is_commit(_text(event, "before")):
        before = _text(event, "before")
        yield _Wish(revisions=(before,), what="the last push before this one", fetched=(before,))
    elif _text(event, "repository", "default_branch"):
        yield _branch(_text(event, "repository", "default_branch"), "the default branch")


def _of_gitlab(env: Mapping[str, str]) -> Iterator[_Wish]:
    start, before = env.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""), env.get("CI_COMMIT_BEFORE_SHA", "")
    if _is_commit(start):
        yield _Wish(revisions=(start,), what="the merge request's base", fetched=(start,))
    elif _is_commit(before):
        yield _Wish(revisions=(before,), what="the last push before this one", fetched=(before,))
    elif env.get("CI_DEFAULT_BRANCH"):
        yield _branch(env["CI_DEFAULT_BRANCH"], "the default branch")


def _branch(name: str, what: str) -> _Wish:
    return _Wish(
        revisions=(f"refs/remotes/origin/{name}", f"refs/heads/{name}"),
        what=f"{what}, {name}",
        branches_off=True,
        fetched=(f"{name}:refs/remotes/origin/{name}",),
    )


def _event(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else None
    except (OSError, ValueError):
        return None


def _text(told: Any, *names: str) -> str:
    for name in names:
        told = told.get(name) if isinstance(told, dict) else None
    return told if isinstance(told, str) else ""


def _is_commit(name: str) -> bool:
    return bool(name.strip("0"))  # zeros: there was none


def _own_base(repository: Repository, on_server: bool, besides: Collection[Path]) -> Base:
    for branch in _default_branches(repository):
        base = repository.merge_base(branch)
        if base is None:
            continue
        if base != repository.head:
            name = repository.short(base)
            return Base(revision=base, name=name, why=f"compared with {name}, where this branch left {branch}")
        break
    if not on_server and is_dirty(repository, besides=besides):
        name = repository.short(repository.head)
        return Base(
            revision=repository.head, name=name, why=f"compared with {name}: the changes not yet committed"
        )
    return _last_commit(repository)


def _default_branches(repository: Repository) -> Iterator[str]:
    """Names that the default branch may have, the likeliest first, as far as they exist."""
    head = repository.ask("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    configured = repository.ask("config", "init.defaultBranch")
    names = [head.text if head.is_good else "", "origin/main", "origin/master", "main", "master"]
    if configured.is_good and configured.text:
        names += [f"origin/{configured.text}", configured.text]
    return (name for name in dict.fromkeys(names) if name and repository.commit(name))


def _last_commit(repository: Repository) -> Base:
    parent = repository.commit("HEAD~1")
    if parent is not None:
        name = repository.short(parent)
        return Base(revision=parent, name=name, why=f"compared with {name}: what the last commit changed")
    note = "this clone is shallow, so every file counts as changed; to compare with the last commit: "
    return Base(
        revision=repository.empty_tree(),
        name="nothing",
        why="compared with nothing: the commit before this one is "
        + ("not in this clone" if repository.is_shallow else "none, this is the first"),
        is_commit=False,
        notes=(note + "git fetch --deepen=50",) if repository.is_shallow else (),
    )
