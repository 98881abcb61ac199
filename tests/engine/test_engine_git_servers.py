"""The base on build servers: the target of a pull request, and pushes that must not hide commits of a branch."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from git_projects import GitProject, clone_of

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def origin(project: GitProject):
    """`release` left `main` after its first commit; `feature` left `release` and has three commits."""
    project.commit({"a.py": "0\n"})
    project.git("checkout", "--quiet", "-b", "release")
    project.commit({"b.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    for number in range(3):
        project.commit({"c.py": f"{number}\n"})
    project.git("checkout", "--quiet", "main")
    project.commit({"a.py": "1\n"})
    return project


@pytest.fixture
def build(origin, tmp_path):
    """A full clone with the feature checked out, detached, as a build server does it."""
    clone = clone_of(origin, tmp_path / "build")
    clone.git("checkout", "--quiet", "--detach", "origin/feature")
    return clone


def event(tmp_path: Path, told: object) -> dict[str, str]:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(told))
    return {"GITHUB_ACTIONS": "true", "GITHUB_EVENT_PATH": str(path)}


@pytest.mark.parametrize(
    "env",
    [
        {"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "release"},
        {"GITEA_ACTIONS": "true", "GITHUB_BASE_REF": "release"},
        {"GITLAB_CI": "true", "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": "release"},
        {"TF_BUILD": "True", "SYSTEM_PULLREQUEST_TARGETBRANCH": "refs/heads/release"},
        {"JENKINS_URL": "http://ci", "CHANGE_TARGET": "release", "BRANCH_NAME": "PR-7"},
        {"BUILDKITE": "true", "BUILDKITE_PULL_REQUEST_BASE_BRANCH": "release"},
        {"TRAVIS": "true", "TRAVIS_PULL_REQUEST": "7", "TRAVIS_BRANCH": "release"},
        {"BITBUCKET_BUILD_NUMBER": "3", "BITBUCKET_PR_DESTINATION_BRANCH": "release"},
        {"DRONE": "true", "DRONE_PULL_REQUEST": "7", "DRONE_TARGET_BRANCH": "release"},
        {"CI": "woodpecker", "CI_COMMIT_TARGET_BRANCH": "release"},
        {"APPVEYOR": "True", "APPVEYOR_PULL_REQUEST_NUMBER": "7", "APPVEYOR_REPO_BRANCH": "release"},
        {"CIRRUS_CI": "true", "CIRRUS_PR": "7", "CIRRUS_BASE_BRANCH": "release"},
        {"CODEBUILD_BUILD_ID": "x", "CODEBUILD_WEBHOOK_BASE_REF": "refs/heads/release"},
        {"TEAMCITY_VERSION": "2024", "teamcity.pullRequest.target.branch": "release"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_the_target_of_a_pull_request_is_read_on_every_server(build, env):
    base = build.base(**env)

    assert (base.revision, base.doubt) == (build.git("rev-parse", "origin/release"), "")
    assert "s base, release" in base.why


@pytest.mark.parametrize(
    "env",
    [
        {"CIRCLECI": "true", "CIRCLE_BRANCH": "feature"},
        {"TRAVIS": "true", "TRAVIS_PULL_REQUEST": "false", "TRAVIS_BRANCH": "feature"},
        {"DRONE": "true", "DRONE_TARGET_BRANCH": "feature", "DRONE_BRANCH": "feature"},
        {"APPVEYOR": "True", "APPVEYOR_REPO_BRANCH": "feature"},
        {"TEAMCITY_VERSION": "2024"},
        {"CI": "true"},
    ],
    ids=lambda env: next(iter(env)),
)
def test_a_server_that_names_no_target_gets_the_branch_point_from_the_default_branch(build, env):
    base = build.base(**env)

    assert (base.revision, base.doubt) == (build.git("merge-base", "origin/main", "origin/feature"), "")


@pytest.mark.parametrize(
    "variable",
    ["CI_COMMIT_BEFORE_SHA", "TRAVIS_COMMIT_RANGE", "DRONE_COMMIT_BEFORE", "CODEBUILD_WEBHOOK_PREV_COMMIT"],
)
def test_the_push_before_does_not_hide_earlier_commits_of_a_branch(build, variable):
    before, head = build.git("rev-parse", "HEAD~1"), build.git("rev-parse", "HEAD")

    base = build.base(CI="true", **{variable: f"{before}...{head}" if "RANGE" in variable else before})

    assert (base.revision, base.doubt) == (build.git("merge-base", "origin/main", "HEAD"), "")


@pytest.mark.parametrize("before", ["HEAD~1", "0" * 40, "f" * 40])
def test_a_push_to_a_branch_on_github_is_compared_with_the_branch_point(build, tmp_path, before):
    before = build.git("rev-parse", before)
    told = {"before": before, "repository": {"default_branch": "main"}}

    base = build.base(**event(tmp_path, told), GITHUB_REF="refs/heads/feature", FLAKEHOUND_FETCH="0")

    assert (base.revision, base.doubt) == (build.git("merge-base", "origin/main", "HEAD"), "")


def test_a_push_of_several_commits_to_the_default_branch_is_compared_with_the_push_before(build, origin, tmp_path):
    before = origin.git("rev-parse", "main")
    for number in range(3):
        origin.commit({"a.py": f"push {number}\n"})
    build.git("fetch", "--quiet")
    build.git("checkout", "--quiet", "--detach", "origin/main")

    base = build.base(**event(tmp_path, {"before": before}), GITHUB_REF="refs/heads/main")

    assert (base.revision, base.doubt) == (before, "")


def test_an_amended_commit_of_the_default_branch_is_compared_with_the_commit_before_it(build, tmp_path):
    build.git("checkout", "--quiet", "main")
    amended = build.commit({"a.py": "2\n"})
    build.git("commit", "--quiet", "--amend", "--message", "again")
    build.git("update-ref", "refs/remotes/origin/main", "HEAD")

    base = build.base(**event(tmp_path, {"before": amended}), GITHUB_REF="refs/heads/main")

    assert (base.revision, base.doubt) == (build.git("rev-parse", "HEAD~1"), "")


def test_a_forced_push_whose_earlier_commits_are_gone_is_in_doubt(build, tmp_path):
    build.git("checkout", "--quiet", "main")

    base = build.base(**event(tmp_path, {"before": "f" * 40}), GITHUB_REF="refs/heads/main", FLAKEHOUND_FETCH="0")

    assert base.doubt == "the last push before this one is not in this clone"


def test_a_build_of_the_default_branch_without_any_push_is_in_doubt(build):
    build.git("checkout", "--quiet", "main")

    base = build.base(CIRCLECI="true", CIRCLE_BRANCH="main")

    assert base.revision == build.git("rev-parse", "HEAD~1")
    assert "does not say which commits were pushed" in base.doubt


def test_the_head_of_a_pull_request_is_not_taken_for_its_merge_commit(build, origin, tmp_path):
    build.git("merge", "--quiet", "--no-edit", "origin/main")
    head = build.git("rev-parse", "HEAD")
    build.git("update-ref", "-d", "refs/remotes/origin/release")
    env = {"GITHUB_BASE_REF": "release", "GITHUB_REF": "refs/pull/7/merge", "FLAKEHOUND_FETCH": "0"}

    told = build.base(**env, **event(tmp_path, {"pull_request": {"head": {"sha": head}}}))
    merged_elsewhere = build.base(**env, GITHUB_SHA="f" * 40)

    assert told.doubt == merged_elsewhere.doubt == "the pull request's base, release, is not in this clone"


def test_a_target_that_the_clone_lacks_is_in_doubt_with_the_command_that_gets_it(build):
    build.git("update-ref", "-d", "refs/remotes/origin/release")

    base = build.base(CHANGE_TARGET="release", JENKINS_URL="http://ci", FLAKEHOUND_FETCH="0")

    assert base.doubt == "the pull request's base, release, is not in this clone"
    assert base.notes[0].endswith("git fetch origin release:refs/remotes/origin/release")


def test_files_that_a_build_leaves_do_not_make_the_built_commit_the_base(project):
    project.commit({"a.py": "1\n"})
    project.write({"built.txt": ""})

    assert not project.base(CI="true").is_commit
