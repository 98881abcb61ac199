"""Fetching what the base needs: on build servers, within its limits, and without touching the user's branches."""

from __future__ import annotations

import shutil
import socket
import time

import pytest
from git_projects import GitProject, clone_of

from flakehound.engine.git import missing_history
from flakehound.engine.git.changed_files import changed_files
from flakehound.engine.git.revisions import NoSuchRevision

pytestmark = pytest.mark.usefixtures("own_git")
SERVER = {"CI": "true"}


@pytest.fixture
def origin(project: GitProject):
    """Five commits of `stable`, and four of `feature`, which left it after the third."""
    project.git("branch", "-m", "stable")
    for number in range(3):
        project.commit({"a.py": f"{number}\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    for number in range(4):
        project.commit({"b.py": f"{number}\n"})
    project.git("checkout", "--quiet", "stable")
    project.commit({"a.py": "4\n"})
    project.commit({"a.py": "5\n"})
    return project


@pytest.fixture
def left(origin) -> str:
    return origin.git("merge-base", "stable", "feature")


@pytest.mark.parametrize(
    "options",
    [
        ["--depth=1", "--branch=feature"],
        ["--depth=2", "--branch=feature"],
        ["--single-branch", "--branch=feature"],
        ["--depth=1", "--no-single-branch", "--branch=feature"],
        ["--filter=blob:none", "--single-branch", "--branch=feature"],
    ],
    ids=" ".join,
)
def test_a_build_server_fetches_what_the_branch_point_needs(origin, left, tmp_path, options):
    origin.git("config", "uploadpack.allowFilter", "true")
    clone = clone_of(origin, tmp_path / "clone", *options)
    before = clone.state()

    base = clone.base(**SERVER)

    assert (base.revision, base.doubt) == (left, "")
    assert clone.state() == before


def test_the_target_of_a_pull_request_is_fetched(origin, left, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=1", "--branch=feature")

    base = clone.base(GITHUB_ACTIONS="true", GITHUB_BASE_REF="stable")

    assert (base.revision, base.doubt) == (left, "")
    assert "the pull request's base, stable" in base.why


def test_the_push_before_is_fetched(origin, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=1")
    before = origin.git("rev-parse", "stable~2")

    base = clone.base(**SERVER, CI_COMMIT_BEFORE_SHA=before, CI_DEFAULT_BRANCH="stable", CI_COMMIT_BRANCH="stable")

    assert (base.revision, base.doubt) == (before, "")


def test_a_revision_that_the_user_names_is_fetched(origin, left, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=1", "--branch=feature")

    assert clone.base(since="origin/stable", **SERVER).revision == origin.git("rev-parse", "stable")
    assert clone.base(since=left, **SERVER).revision == left


def test_a_revision_that_nobody_knows_is_an_error_on_a_build_server_as_well(origin, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=1")

    with pytest.raises(NoSuchRevision):
        clone.base(since="nowhere", **SERVER)


@pytest.mark.parametrize("env", [{}, {"CI": "true", "FLAKEHOUND_FETCH": "0"}])
def test_nothing_is_fetched_at_home_or_where_it_is_forbidden(origin, tmp_path, env):
    clone = clone_of(origin, tmp_path / "clone", "--depth=2", "--branch=feature")

    base = clone.base(**env)

    assert "this clone has only" in base.doubt
    assert clone.git("rev-list", "--count", "--all") == "2"


def test_a_user_may_allow_fetching_at_home(origin, left, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=2", "--branch=feature")

    assert clone.base(FLAKEHOUND_FETCH="1").revision == left


def test_a_remote_that_is_gone_leaves_the_doubt(origin, tmp_path):
    clone = clone_of(origin, tmp_path / "clone", "--depth=2", "--branch=feature")
    shutil.rmtree(origin.root)

    base = clone.base(**SERVER)

    assert base.revision == clone.git("rev-parse", "HEAD~1")
    assert "this clone has only" in base.doubt
    assert "git fetch --unshallow" in base.notes[0]


def test_a_remote_that_does_not_answer_costs_no_more_than_the_limit(origin, tmp_path, monkeypatch):
    monkeypatch.setattr(missing_history, "LIMIT_S", 1.0)
    clone = clone_of(origin, tmp_path / "clone", "--depth=2", "--branch=feature")
    with socket.create_server(("127.0.0.1", 0)) as silent:
        clone.git("remote", "set-url", "origin", f"git://127.0.0.1:{silent.getsockname()[1]}/x")
        start_s = time.monotonic()

        base = clone.base(**SERVER)

        assert time.monotonic() - start_s < 15
    assert base.doubt
    assert not list((clone.root / ".git").rglob("*.lock"))


def test_history_that_a_shallow_clone_has_is_not_cut_off(origin, tmp_path, monkeypatch):
    monkeypatch.setattr(missing_history, "_MIN_DEPTH", 1)
    clone = clone_of(origin, tmp_path / "clone", "--depth=4", "--branch=feature")
    before = set(clone.git("rev-list", "--all").split())

    clone.base(**SERVER)

    assert before <= set(clone.git("rev-list", "HEAD").split())


@pytest.fixture
def partial(origin, tmp_path) -> GitProject:
    """A clone without the contents of earlier commits, whose remote is gone."""
    origin.git("config", "uploadpack.allowFilter", "true")
    clone = clone_of(origin, tmp_path / "clone", "--filter=blob:none")
    shutil.rmtree(origin.root)
    return clone


def test_an_earlier_version_that_a_partial_clone_cannot_get_is_a_problem(partial):
    told = changed_files(partial.repository, "HEAD~1")

    assert told.problem == "git cannot read the earlier version of a.py: this clone lacks it"
    assert [file.path for file in told.files] == ["a.py"]


def test_a_version_that_a_partial_clone_has_is_compared(partial):
    partial.write({"a.py": "6\n"})

    assert partial.changed()["a.py"].before == b"5\n"


def test_a_renamed_file_that_a_partial_clone_cannot_compare_is_a_problem(partial):
    partial.git("mv", "a.py", "c.py")

    assert changed_files(partial.repository, "HEAD~1").problem


def test_a_file_that_git_was_told_to_ignore_is_a_problem_in_a_partial_clone(partial):
    partial.git("update-index", "--assume-unchanged", "a.py")
    partial.write({"a.py": "6\n"})

    assert changed_files(partial.repository, "HEAD~1").problem


def test_a_lost_object_of_a_full_clone_is_a_problem(project):
    project.commit({"a.py": "1\n", "b.py": "1\n"})
    lost = project.git("rev-parse", "HEAD:a.py")
    project.commit({"a.py": "2\n", "b.py": "2\n"})
    (project.root / ".git" / "objects" / lost[:2] / lost[2:]).unlink()

    told = changed_files(project.repository, "HEAD~1")

    assert "earlier version of a.py" in told.problem
