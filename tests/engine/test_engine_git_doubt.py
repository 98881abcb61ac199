"""Which bases may hide part of the change, and which are safe although nobody named them."""

from __future__ import annotations

import shlex

import pytest
from git_projects import GitProject, clone_of

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def feature(project: GitProject):
    """Two commits of `stable`, which nobody knows as a default branch, and two of `feature` on top of it."""
    project.git("branch", "-m", "stable")
    project.commit({"a.py": "0\n"})
    left = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"a.py": "2\n"})
    project.commit({"a.py": "3\n"})
    return project, left


# -- doubtful --


def test_a_clone_of_a_checkout_does_not_take_its_branch_for_the_default_branch(feature, tmp_path):
    project, left = feature
    clone = clone_of(project, tmp_path / "clone")
    single = clone_of(project, tmp_path / "single", "--single-branch")

    assert clone.git("rev-parse", "--abbrev-ref", "origin/HEAD") == "origin/feature"
    assert (clone.base().revision, clone.base().doubt) == (left, "")
    assert single.base().doubt == "this clone has only the branch feature"


def test_a_shallow_clone_of_a_branch_is_in_doubt_and_says_what_to_fetch(feature, tmp_path):
    project, left = feature
    clone = clone_of(project, tmp_path / "clone", "--depth=2", "--branch=feature")

    base = clone.base()
    clone.git(*shlex.split(base.notes[0].partition("to get the rest: ")[2])[1:])

    assert base.revision == clone.git("rev-parse", "HEAD~1")
    assert "this clone has only" in base.doubt
    assert (clone.base().revision, clone.base().doubt) == (left, "")


def test_a_shallow_clone_of_the_default_branch_is_in_doubt(project, tmp_path):
    for number in range(3):
        project.commit({"a.py": f"{number}\n"})
    clone = clone_of(project, tmp_path / "clone", "--depth=2")

    assert clone.base().doubt == "this clone has only 2 commits"


def test_a_clone_of_one_branch_without_the_default_branch_is_in_doubt(feature, tmp_path):
    project, left = feature
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--single-branch", "--branch=feature")

    base = clone.base()
    clone.git(*shlex.split(base.notes[0].partition("to get the rest: ")[2])[1:])

    assert base.doubt == "this clone has only the branch feature"
    assert (clone.base().revision, clone.base().doubt) == (left, "")


@pytest.mark.parametrize("name", ["dev", "main"])
def test_a_clone_of_one_branch_with_a_usual_name_is_in_doubt(feature, tmp_path, name):
    project, _left = feature
    project.git("branch", "-m", "feature", name)
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--single-branch", f"--branch={name}")

    assert clone.base().doubt == f"this clone has only the branch {name}"


def test_a_detached_head_without_a_known_default_branch_is_in_doubt(feature):
    project, _left = feature
    project.git("checkout", "--quiet", "--detach")

    assert "no branch is checked out" in project.base().doubt


def test_a_branch_that_every_other_branch_contains_is_in_doubt(feature):
    project, _left = feature
    project.git("checkout", "--quiet", "stable")

    base = project.base()

    assert base.revision == project.git("rev-parse", "HEAD~1")
    assert base.doubt == "none of 2 branches is known as the default branch"


def test_a_fetched_branch_without_any_other_branch_of_the_remote_is_in_doubt(feature, tmp_path):
    project, _left = feature
    clone = GitProject(tmp_path / "clone")
    clone.git("remote", "add", "origin", f"file://{project.root}")
    clone.git("fetch", "--quiet", "origin", "feature")
    clone.git("checkout", "--quiet", "-b", "feature", "FETCH_HEAD")

    assert clone.base().doubt == "the default branch is not in this clone"


def test_a_branch_contained_in_a_branch_of_a_vague_name_is_compared_with_the_others(feature):
    project, left = feature
    project.git("branch", "dev")

    base = project.base()

    assert (base.revision, base.doubt) == (left, "")


# -- not doubtful --


def test_a_default_branch_of_another_name_is_known_from_the_remote(feature, tmp_path):
    project, left = feature
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--branch=feature")

    base = clone.base()

    assert (base.revision, base.doubt) == (left, "")
    assert "where this branch left origin/stable" in base.why


def test_a_default_branch_of_another_name_is_found_by_the_oldest_branch_point(feature):
    project, left = feature
    project.git("branch", "stacked", "HEAD~1")
    project.git("branch", "copy")

    base = project.base()

    assert (base.revision, base.doubt) == (left, "")


@pytest.mark.parametrize("name", ["main", "master", "trunk", "develop", "dev", "default", "mainline"])
def test_a_usual_name_is_taken_for_the_default_branch(feature, name):
    project, left = feature
    project.git("branch", "-m", "stable", name)
    project.git("branch", "very-old", "HEAD~3")

    base = project.base()

    assert (base.revision, base.doubt) == (left, "")


def test_the_configured_name_is_taken_for_the_default_branch(feature):
    project, left = feature
    project.git("branch", "very-old", "HEAD~3")
    project.git("config", "init.defaultBranch", "stable")

    assert project.base().revision == left


def test_pushed_commits_of_a_branch_stay_part_of_its_change(feature, tmp_path):
    project, left = feature
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--branch=feature")
    clone.git("remote", "set-head", "origin", "--delete")
    clone.commit({"a.py": "4\n"})

    assert clone.git("rev-parse", "--abbrev-ref", "@{upstream}") == "origin/feature"
    assert (clone.base().revision, clone.base().doubt) == (left, "")


def test_a_branch_that_was_pushed_under_another_name_is_not_its_base(feature, tmp_path):
    project, left = feature
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--branch=feature")
    clone.git("branch", "-m", "feature", "mine")

    assert clone.base().revision == left


def test_local_commits_of_the_default_branch_are_the_change_with_stray_files(project, tmp_path):
    project.commit({"a.py": "0\n"})
    pushed = project.commit({"a.py": "1\n"})
    clone = clone_of(project, tmp_path / "clone")
    clone.commit({"a.py": "2\n"})
    clone.commit({"a.py": "3\n"})
    clone.write({"stray.txt": ""})

    base = clone.base()

    assert (base.revision, base.doubt) == (pushed, "")
    assert "where this branch left origin/main" in base.why


def test_a_fork_is_compared_with_the_repository_that_it_was_made_from(project, tmp_path):
    left = project.commit({"a.py": "1\n"})
    fork = GitProject(tmp_path / "fork")
    clone = clone_of(project, tmp_path / "clone", "--origin=upstream")
    clone.git("remote", "add", "origin", f"file://{fork.root}")
    clone.commit({"a.py": "2\n"})
    clone.commit({"a.py": "3\n"})
    fork.git("checkout", "--quiet", "--orphan", "other")
    clone.git("push", "--quiet", "origin", "main")

    base = clone.base()

    assert (base.revision, base.doubt) == (left, "")
    assert "where this branch left upstream/main" in base.why


def test_a_remote_of_any_name_gives_the_default_branch(feature, tmp_path):
    project, left = feature
    project.git("checkout", "--quiet", "stable")
    clone = clone_of(project, tmp_path / "clone", "--origin=company", "--branch=feature")

    base = clone.base()

    assert (base.revision, base.doubt) == (left, "")
    assert "company/stable" in base.why


def test_the_only_branch_of_a_local_repository_is_safe_under_any_name(project):
    project.git("branch", "-m", "odd")
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    project.write({"stray.txt": ""})

    assert (project.base().revision, project.base().doubt) == (first, "")


def test_uncommitted_work_after_the_only_commit_is_compared_with_it(project):
    head = project.commit({"a.py": "1\n"})
    project.write({"a.py": "2\n"})

    base = project.base()

    assert (base.revision, base.doubt) == (head, "")
    assert "the only commit" in base.why


def test_a_named_revision_is_never_in_doubt(feature, tmp_path):
    project, _left = feature
    clone = clone_of(project, tmp_path / "clone", "--depth=2", "--branch=feature")

    assert clone.base(since="HEAD~1").doubt == ""
