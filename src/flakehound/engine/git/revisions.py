"""Which revision a change is compared with, and why that one.

A base that is too old only makes the change larger, which is safe; a base that hides part of the change is not.
So on a build server the commit that is checked out is never the base, even if the build left files in its tree.
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

_SERVER_VARIABLES = ("CI", "GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The revision to compare with."""

    revision: str  # the full hash of a commit; of the empty tree if `is_commit` is False
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
class _ServerBase:
    """A base that the environment of a build server specifies."""

    revisions: tuple[str, ...]  # the first that exists is used
    description: str  # for the user
    is_branch_point: bool = False  # the merge base with the revision is the base, not the revision itself
    refspecs: tuple[str, ...] = ()  # what `git fetch` needs to get it


def base_revision(
    repository: Repository,
    *,
    since: str | None = None,
    env: Mapping[str, str] = os.environ,
    excluded: Collection[Path] = (),
) -> Base:
    """The base that the user names, else that of the build server, else the branch point from the default."""
    if since is not None:
        commit = repository.commit(since)
        if commit is None:
            raise NoSuchRevision(repository, since)
        return Base(revision=commit, name=since, why=f"compared with {since}, as asked")
    missing: list[str] = []
    for server_base in _server_bases(env):
        commit = _commit_of(repository, server_base)
        if commit is None:
            missing.append(
                f"{server_base.description} is not in this clone; "
                f"to compare with it: {_fetch_command(repository, server_base)}"
            )
        elif commit != repository.head:
            name = repository.short(commit)
            is_branch_point = server_base.is_branch_point
            where = (
                f"where this branch left {server_base.description}" if is_branch_point else server_base.description
            )
            return Base(revision=commit, name=name, why=f"compared with {name}, {where}")
    on_server = any(env.get(name, "").lower() not in ("", "0", "false") for name in _SERVER_VARIABLES)
    base = _base_without_server(repository, on_server, excluded)
    # Only the first note: the other bases would only have replaced the first.
    return replace(base, notes=(*missing[:1], *base.notes))


def _commit_of(repository: Repository, server_base: _ServerBase) -> str | None:
    commit = next(filter(None, map(repository.commit, server_base.revisions)), None)
    return repository.merge_base(commit) if commit and server_base.is_branch_point else commit


def _fetch_command(repository: Repository, server_base: _ServerBase) -> str:
    depth = [] if not repository.is_shallow else ["--deepen=50" if server_base.is_branch_point else "--depth=1"]
    return shlex.join(["git", "fetch", *depth, "origin", *server_base.refspecs])


def _server_bases(env: Mapping[str, str]) -> Iterator[_ServerBase]:
    yield from _github_bases(env)
    yield from _gitlab_bases(env)
    target = env.get("SYSTEM_PULLREQUEST_TARGETBRANCH", "").removeprefix("refs/heads/")
    if target:
        yield _branch(target, "the pull request's target")


def _github_bases(env: Mapping[str, str]) -> Iterator[_ServerBase]:
    event = _event(env.get("GITHUB_EVENT_PATH", ""))
    branch = env.get("GITHUB_BASE_REF", "")
    if branch:
        yield _branch(branch, "the pull request's base")
        tip = _text(event, "pull_request", "base", "sha")
        if tip:
            yield _ServerBase(
                revisions=(tip,), description="the pull request's base", is_branch_point=True, refspecs=(tip,)
            )
        if env.get("GITHUB_REF", "").endswith("/merge"):
            yield _ServerBase(revisions=("HEAD^1",), description="the pull request's base")
    elif _is_commit(_text(event, "before")):
        before = _text(event, "before")
        yield _ServerBase(revisions=(before,), description="the last push before this one", refspecs=(before,))
    elif _text(event, "repository", "default_branch"):
        yield _branch(_text(event, "repository", "default_branch"), "the default branch")


def _gitlab_bases(env: Mapping[str, str]) -> Iterator[_ServerBase]:
    start, before = env.get("CI_MERGE_REQUEST_DIFF_BASE_SHA", ""), env.get("CI_COMMIT_BEFORE_SHA", "")
    if _is_commit(start):
        yield _ServerBase(revisions=(start,), description="the merge request's base", refspecs=(start,))
    elif _is_commit(before):
        yield _ServerBase(revisions=(before,), description="the last push before this one", refspecs=(before,))
    elif env.get("CI_DEFAULT_BRANCH"):
        yield _branch(env["CI_DEFAULT_BRANCH"], "the default branch")


def _branch(name: str, description: str) -> _ServerBase:
    return _ServerBase(
        revisions=(f"refs/remotes/origin/{name}", f"refs/heads/{name}"),
        description=f"{description}, {name}",
        is_branch_point=True,
        refspecs=(f"{name}:refs/remotes/origin/{name}",),
    )


def _event(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else None
    except (OSError, ValueError):
        return None


def _text(content: Any, *names: str) -> str:
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""


def _is_commit(name: str) -> bool:
    return bool(name.strip("0"))  # zeros mean that there is none


def _base_without_server(repository: Repository, on_server: bool, excluded: Collection[Path]) -> Base:
    for branch in _default_branches(repository):
        base = repository.merge_base(branch)
        if base is None:
            continue
        if base != repository.head:
            name = repository.short(base)
            return Base(revision=base, name=name, why=f"compared with {name}, where this branch left {branch}")
        break
    if not on_server and is_dirty(repository, excluded=excluded):
        name = repository.short(repository.head)
        return Base(
            revision=repository.head, name=name, why=f"compared with {name}: the changes not yet committed"
        )
    return _last_commit(repository)


def _default_branches(repository: Repository) -> Iterator[str]:
    """Existing branches that may be the default branch, the most likely first."""
    head = repository.git("symbolic-ref", "--quiet", "--short", "refs/remotes/origin/HEAD")
    configured = repository.git("config", "init.defaultBranch")
    names = [head.text if head.succeeded else "", "origin/main", "origin/master", "main", "master"]
    if configured.succeeded and configured.text:
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
