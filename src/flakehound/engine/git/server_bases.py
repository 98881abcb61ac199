"""What the environment of a build server says about the base: the target of a pull request, the push before.

Gitea and Forgejo have the variables of GitHub Actions. CircleCI and TeamCity name neither; there the default
branch decides.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_SERVER_VARIABLES = (
    *("CI", "GITHUB_ACTIONS", "GITEA_ACTIONS", "FORGEJO_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL"),
    *("BUILDKITE", "CIRCLECI", "TRAVIS", "BITBUCKET_BUILD_NUMBER", "DRONE", "APPVEYOR", "TEAMCITY_VERSION"),
    *("CIRRUS_CI", "CODEBUILD_BUILD_ID", "SEMAPHORE", "PROW_JOB_ID"),
)
_NO = ("", "0", "false")
_PULL_REQUEST = "the pull request's base"
_MERGE_REQUEST = "the merge request's base"


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerBase:
    """One base that a build server names: a branch or a commit."""

    description: str  # for the user
    branch: str = ""  # the base is where the checked-out commit left it
    revision: str = ""  # if there is no branch
    needs_merge: bool = False  # only right if a merge commit is checked out


@dataclass(frozen=True, slots=True, kw_only=True)
class BuildServer:
    """What a build server says; all of it is empty if there is none."""

    is_present: bool = False
    targets: tuple[ServerBase, ...] = ()  # of the pull request; the first that is in the clone is used
    before: str = ""  # the commit before the push; commits of the pushed branch may be older
    default_branch: str = ""
    branch: str = ""  # that was pushed; empty for a pull request, whose branch may be in another repository


@dataclass(frozen=True, slots=True, kw_only=True)
class _Variable:
    """An environment variable, and another one without which it means something else."""

    name: str
    needs: str = ""
    description: str = _PULL_REQUEST


_TARGET_BRANCHES = (
    _Variable(name="CI_MERGE_REQUEST_TARGET_BRANCH_NAME", description=_MERGE_REQUEST),
    _Variable(name="CI_EXTERNAL_PULL_REQUEST_TARGET_BRANCH_NAME"),
    _Variable(name="SYSTEM_PULLREQUEST_TARGETBRANCH"),
    _Variable(name="CHANGE_TARGET"),
    _Variable(name="BUILDKITE_PULL_REQUEST_BASE_BRANCH"),
    _Variable(name="BITBUCKET_PR_DESTINATION_BRANCH"),
    _Variable(name="CI_COMMIT_TARGET_BRANCH"),
    _Variable(name="CIRRUS_BASE_BRANCH", needs="CIRRUS_PR"),
    _Variable(name="CODEBUILD_WEBHOOK_BASE_REF"),
    # These name the branch itself if it is no pull request.
    _Variable(name="TRAVIS_BRANCH", needs="TRAVIS_PULL_REQUEST"),
    _Variable(name="APPVEYOR_REPO_BRANCH", needs="APPVEYOR_PULL_REQUEST_NUMBER"),
    _Variable(name="DRONE_TARGET_BRANCH", needs="DRONE_PULL_REQUEST"),
    _Variable(name="SEMAPHORE_GIT_BRANCH", needs="SEMAPHORE_GIT_PR_NUMBER"),
    _Variable(name="PULL_BASE_REF", needs="PULL_NUMBER"),
    _Variable(name="TEAMCITY_PULLREQUEST_TARGET_BRANCH"),
    _Variable(name="teamcity.pullRequest.target.branch"),
)
_TARGET_COMMITS = (
    _Variable(name="CI_MERGE_REQUEST_DIFF_BASE_SHA", description=_MERGE_REQUEST),
    _Variable(name="BITBUCKET_PR_DESTINATION_COMMIT"),
    _Variable(name="CIRRUS_BASE_SHA", needs="CIRRUS_PR"),
    _Variable(name="PULL_BASE_SHA", needs="PULL_NUMBER"),
)
_COMMITS_BEFORE = (
    _Variable(name="CI_COMMIT_BEFORE_SHA"),
    _Variable(name="TRAVIS_COMMIT_RANGE"),
    _Variable(name="SEMAPHORE_GIT_COMMIT_RANGE"),
    _Variable(name="DRONE_COMMIT_BEFORE"),
    _Variable(name="CI_PREV_COMMIT_SHA"),
    _Variable(name="CODEBUILD_WEBHOOK_PREV_COMMIT"),
    _Variable(name="CIRRUS_LAST_GREEN_CHANGE"),
    _Variable(name="GIT_PREVIOUS_COMMIT", needs="JENKINS_URL"),
)
_DEFAULT_BRANCHES = (
    _Variable(name="CI_DEFAULT_BRANCH"),
    _Variable(name="BUILDKITE_PIPELINE_DEFAULT_BRANCH"),
    _Variable(name="DRONE_REPO_BRANCH"),
    _Variable(name="CI_REPO_DEFAULT_BRANCH"),
    _Variable(name="CIRRUS_DEFAULT_BRANCH"),
)
_PUSHED_BRANCHES = (
    _Variable(name="GITHUB_REF"),
    _Variable(name="CI_COMMIT_BRANCH"),
    _Variable(name="BUILD_SOURCEBRANCH"),
    _Variable(name="BRANCH_NAME", needs="JENKINS_URL"),
    _Variable(name="BUILDKITE_BRANCH"),
    _Variable(name="CIRCLE_BRANCH"),
    _Variable(name="TRAVIS_BRANCH"),
    _Variable(name="BITBUCKET_BRANCH"),
    _Variable(name="DRONE_BRANCH"),
    _Variable(name="APPVEYOR_REPO_BRANCH"),
    _Variable(name="CIRRUS_BRANCH"),
    _Variable(name="CODEBUILD_WEBHOOK_HEAD_REF"),
    _Variable(name="SEMAPHORE_GIT_BRANCH"),
)


def build_server(env: Mapping[str, str], head: str) -> BuildServer:
    """What the build server says about the commit `head`, which is checked out."""
    event = _event(env.get("GITHUB_EVENT_PATH", ""))
    targets = (*_github_targets(env, event, head), *_other_targets(env))
    before = _text(event, "before") or _first(env, _COMMITS_BEFORE)
    return BuildServer(
        is_present=is_build_server(env),
        targets=targets,
        before="" if targets or not is_commit(before) else before.partition(".")[0],
        default_branch=_text(event, "repository", "default_branch") or _first(env, _DEFAULT_BRANCHES),
        branch="" if targets else _branch_name(_first(env, _PUSHED_BRANCHES)),
    )


def is_build_server(env: Mapping[str, str]) -> bool:
    """Whether an environment is that of a build server."""
    return any(env.get(name, "").lower() not in _NO for name in _SERVER_VARIABLES)


def is_commit(name: str) -> bool:
    """Whether a server names a commit; zeros mean that there is none."""
    return bool(name.strip("0. "))


def _github_targets(env: Mapping[str, str], event: Any, head: str) -> Iterator[ServerBase]:
    branch = env.get("GITHUB_BASE_REF", "")
    if branch:
        yield ServerBase(description=f"{_PULL_REQUEST}, {branch}", branch=_branch_name(branch))
        if tip := _text(event, "pull_request", "base", "sha"):
            yield ServerBase(description=_PULL_REQUEST, revision=tip)
        # A workflow may check out the head of the pull request instead of the merge commit.
        is_merge = env.get("GITHUB_SHA", head) == head and _text(event, "pull_request", "head", "sha") != head
        if env.get("GITHUB_REF", "").endswith("/merge") and is_merge:
            yield ServerBase(description=_PULL_REQUEST, revision="HEAD^1", needs_merge=True)
    if tip := _text(event, "merge_group", "base_sha"):
        yield ServerBase(description="the merge queue's base", revision=tip)


def _other_targets(env: Mapping[str, str]) -> Iterator[ServerBase]:
    for variable in _TARGET_COMMITS:
        if is_commit(value := _value(env, variable)):
            yield ServerBase(description=variable.description, revision=value)
    for variable in _TARGET_BRANCHES:
        if branch := _branch_name(_value(env, variable)):
            yield ServerBase(description=f"{variable.description}, {branch}", branch=branch)


def _first(env: Mapping[str, str], variables: tuple[_Variable, ...]) -> str:
    return next(filter(None, (_value(env, variable) for variable in variables)), "")


def _value(env: Mapping[str, str], variable: _Variable) -> str:
    if variable.needs and env.get(variable.needs, "").lower() in _NO:
        return ""
    return env.get(variable.name, "").strip()


def _branch_name(name: str) -> str:
    """A branch without the beginning of a full name; empty for the name of anything else, such as a tag."""
    short = name.removeprefix("refs/heads/")
    return "" if short.startswith("refs/") else short


def _event(path: str) -> Any:
    try:
        return json.loads(Path(path).read_text(encoding="utf-8")) if path else None
    except (OSError, ValueError):
        return None


def _text(content: Any, *names: str) -> str:
    for name in names:
        content = content.get(name) if isinstance(content, dict) else None
    return content if isinstance(content, str) else ""
