"""The branches of a clone, and which of them is the default branch.

The branch on a server that the current branch is pushed to says nothing: it already has the pushed commits of the
change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from flakehound.engine.git.repository import Repository

# The first that exists is the default branch, if no remote names one.
USUAL_NAMES = ("main", "master", "trunk")
# Also used for a branch that others are merged into before they reach the default branch.
_VAGUE_NAMES = ("develop", "dev", "default", "mainline")
FETCHED = "refs/flakehound/"  # branches that we have fetched ourselves
MAX_BRANCHES = 200  # that are compared if the default branch is not known
_HEADS, _REMOTES = "refs/heads/", "refs/remotes/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Branches:
    """The branches of a clone, by the full names of their references."""

    commits: Mapping[str, str]  # by reference
    remotes: tuple[str, ...]  # the one that most likely has the default branch first
    remote_defaults: tuple[str, ...]  # names of default branches, as the remotes gave them when they were cloned
    configured: str = ""  # `init.defaultBranch`
    current: str = ""  # the branch that is checked out, or that a build server builds; empty: not known
    upstream: str = ""  # the reference that the current branch is configured to follow
    is_single: bool = False  # the clone was made to have one branch of its remote only

    def references(self, name: str) -> list[str]:
        """The references of a branch: at the remotes, then local."""
        places = [f"{place}{remote}/" for remote in self.remotes for place in (_REMOTES, FETCHED)]
        return [place + name for place in (*places, _HEADS) if place + name in self.commits]

    def default_names(self, *named: str) -> list[str]:
        """The names that the default branch may have, the likeliest first; `named` are known from elsewhere."""
        names = [*named, *self.remote_defaults, *USUAL_NAMES, *_VAGUE_NAMES, self.configured]
        return [name for name in dict.fromkeys(names) if name and self.references(name)]

    def is_vague(self, name: str) -> bool:
        """Whether a branch is taken for the default branch because of a name that others have as well."""
        return name not in (*self.remote_defaults, *USUAL_NAMES)

    def others(self) -> list[str]:
        """One reference for each commit at which another branch than the current one ends."""
        own = {f"{_REMOTES}{remote}/{self.current}" for remote in self.remotes if self.current}
        own |= {f"{FETCHED}{remote}/{self.current}" for remote in self.remotes if self.current}
        own |= {_HEADS + self.current, self.upstream}
        by_commit = {commit: reference for reference, commit in self.commits.items() if reference not in own}
        return sorted(by_commit.values())


def read_branches(repository: Repository, *, built: str = "") -> Branches:
    """The branches of a clone; `built` is the branch that a build server builds."""
    pattern = "--format=%(refname)%00%(objectname)%00%(symref)"
    listed = repository.git("for-each-ref", pattern, _HEADS, _REMOTES, FETCHED)
    rows = [line.split("\0") for line in listed.text.split("\n") if line.count("\0") == 2]
    current = repository.branch() or built
    remotes = _remotes(repository, current)
    targets = {reference: target for reference, _commit, target in rows if target}
    commits = {reference: commit for reference, commit, target in rows if not target}
    has_others = any(is_remote(reference) and not reference.endswith(f"/{current}") for reference in commits)
    return Branches(
        commits=commits,
        remotes=remotes,
        remote_defaults=tuple(dict.fromkeys(_remote_defaults(repository, remotes, targets, current))),
        configured=_setting(repository, "init.defaultBranch"),
        current=current,
        upstream=_upstream(repository),
        is_single=bool(remotes) and not has_others and not any(_fetches_all(repository, name) for name in remotes),
    )


def _remote_defaults(
    repository: Repository, remotes: tuple[str, ...], targets: Mapping[str, str], current: str
) -> Iterator[str]:
    for remote in remotes:
        name = targets.get(f"{_REMOTES}{remote}/HEAD", "").removeprefix(f"{_REMOTES}{remote}/")
        is_known = name != current or name in (*USUAL_NAMES, *_VAGUE_NAMES)
        if name and (is_known or not _is_working_copy(_setting(repository, f"remote.{remote}.url"))):
            yield name


def _is_working_copy(url: str) -> bool:
    """Whether a remote is a folder with a checkout: its HEAD is what somebody works on, not the default branch."""
    return (Path(url.removeprefix("file://")) / ".git").exists()


def short_name(reference: str) -> str:
    """A branch as the user knows it."""
    for beginning in (_HEADS, _REMOTES, FETCHED):
        reference = reference.removeprefix(beginning)
    return reference


def is_remote(reference: str) -> bool:
    """Whether a reference is a branch of a remote."""
    return not reference.startswith(_HEADS)


def _remotes(repository: Repository, current: str) -> tuple[str, ...]:
    names = repository.git("remote").text.split()
    own = _setting(repository, f"branch.{current}.remote") if current else ""
    first = [name for name in ("origin", own, "upstream") if name in names]
    return tuple(dict.fromkeys([*first, *names]))


def _setting(repository: Repository, name: str) -> str:
    result = repository.git("config", name)
    return result.text if result.succeeded else ""


def _upstream(repository: Repository) -> str:
    result = repository.git("rev-parse", "--symbolic-full-name", "@{upstream}")
    return result.text if result.succeeded else ""


def _fetches_all(repository: Repository, remote: str) -> bool:
    patterns = repository.git("config", "--get-all", f"remote.{remote}.fetch").text.split("\n")
    return any("*" in pattern for pattern in patterns)


def oldest_branch_point(repository: Repository, branches: Branches) -> str | None:
    """A commit that all other branches have in common with the checked-out one; None: only itself, or none."""
    oldest: str | None = None
    for reference in branches.others()[:MAX_BRANCHES]:
        point = repository.merge_base(reference)
        if point is not None and point != repository.head:
            oldest = point if oldest is None else _older(repository, point, oldest)
    return oldest


def _older(repository: Repository, one: str, other: str) -> str:
    return one if one == other else repository.merge_base(one, other) or other


def usable_points(repository: Repository, branches: Branches, name: str) -> Iterator[tuple[str, str]]:
    """Each reference of a branch with the commit at which the checked-out one left it."""
    for reference in branches.references(name):
        point = repository.merge_base(reference)
        if point is not None and reference != _HEADS + branches.current:
            yield reference, point
