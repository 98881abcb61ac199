"""Which revision a change is compared with."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest
from git_projects import GitProject, clone_of, statuses

from flakehound.engine.git.revisions import NoSuchRevision

pytestmark = pytest.mark.usefixtures("own_git")


# -- since when --


def test_the_revision_that_the_user_gives_is_the_base(project):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})

    base = project.base(since="HEAD~1", GITHUB_BASE_REF="main")

    assert (base.revision, base.name) == (first, "HEAD~1")


@pytest.mark.parametrize("revision", ["nowhere", "--all", "", "HEAD..main"])
def test_a_revision_that_does_not_exist_is_an_error_with_a_remedy(project, revision):
    project.commit({"a.py": ""})

    with pytest.raises(NoSuchRevision) as error:
        project.base(since=revision)

    assert repr(revision) in error.value.what
    project.git(*shlex.split(error.value.remedy or "")[1:])


def test_a_branch_is_compared_with_where_it_left_the_default_branch(project):
    left = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"a.py": "2\n"})
    project.git("checkout", "--quiet", "main")
    project.commit({"other.py": "1\n"})
    project.git("checkout", "--quiet", "feature")

    base = project.base()

    assert base.revision == left
    assert "where this branch left main" in base.why


def test_a_branch_that_merged_the_default_branch_is_compared_with_what_it_merged(project):
    project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"feature.py": "1\n"})
    project.git("checkout", "--quiet", "main")
    merged = project.commit({"other.py": "1\n"})
    project.git("checkout", "--quiet", "feature")
    project.git("merge", "--quiet", "--no-edit", "main")

    base = project.base()

    assert base.revision == merged
    assert set(project.changed(base.revision)) == {"feature.py"}


def test_the_remote_default_branch_goes_before_the_local_one(project, tmp_path):
    pushed = project.commit({"a.py": "1\n"})
    project.git("branch", "-m", "trunk")
    clone = clone_of(project, tmp_path / "clone")
    clone.commit({"a.py": "2\n"})

    base = clone.base()

    assert base.revision == pushed
    assert "origin/trunk" in base.why


def test_a_stray_file_on_the_default_branch_does_not_hide_the_last_commit(project):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    project.write({"notes.txt": "stray\n"})

    base = project.base()

    assert (base.revision, base.doubt) == (first, "")
    assert set(project.changed(base.revision)) == {"a.py", "notes.txt"}


def test_on_a_clean_default_branch_the_last_commit_is_the_change(project):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})

    base = project.base()

    assert base.revision == first
    assert "last commit" in base.why


def test_a_merge_commit_on_the_default_branch_counts_with_all_it_merged(project):
    before = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"b.py": "1\n"})
    project.commit({"c.py": "1\n"})
    project.git("checkout", "--quiet", "main")
    project.git("merge", "--quiet", "--no-ff", "--no-edit", "feature")

    base = project.base()

    assert base.revision == before
    assert set(project.changed(base.revision)) == {"b.py", "c.py"}


def test_the_first_commit_is_compared_with_nothing(project):
    project.commit({"a.py": "1\n"})

    base = project.base()

    assert not base.is_commit
    assert statuses(project.changed(base.revision)) == {"a.py": "added"}


def test_a_detached_head_is_compared_like_a_branch(project):
    left = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "--detach")
    project.commit({"a.py": "2\n"})

    assert project.base().revision == left
    assert project.repository.branch() == ""


def test_a_repository_without_any_known_branch_is_compared_with_its_last_commit(project):
    first = project.commit({"a.py": "1\n"})
    project.git("branch", "-m", "odd")
    project.commit({"a.py": "2\n"})

    assert project.base().revision == first


@pytest.fixture
def pull_request(project, tmp_path):
    """A clone as a build server makes it: a merge commit of a branch, detached, and the remote branches."""
    base = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"feature.py": "1\n"})
    project.git("checkout", "--quiet", "main")
    tip = project.commit({"other.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "merge")
    project.git("merge", "--quiet", "--no-edit", "feature")
    clone = clone_of(project, tmp_path / "clone")
    return clone, base, tip


def event_file(tmp_path: Path, told: object) -> str:
    path = tmp_path / "event.json"
    path.write_text(json.dumps(told))
    return str(path)


def test_a_pull_request_on_github_is_compared_with_its_base(pull_request):
    clone, _base, tip = pull_request

    base = clone.base(GITHUB_ACTIONS="true", GITHUB_BASE_REF="main")

    assert base.revision == tip
    assert "the pull request's base, main" in base.why
    assert set(clone.changed(base.revision)) == {"feature.py"}


def test_a_push_on_github_is_compared_with_the_push_before(project, tmp_path):
    before = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    project.commit({"a.py": "3\n"})

    base = project.base(GITHUB_ACTIONS="true", GITHUB_EVENT_PATH=event_file(tmp_path, {"before": before}))

    assert base.revision == before


def test_the_first_push_of_a_branch_on_github_is_compared_with_the_default_branch(project, tmp_path):
    left = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "feature")
    project.commit({"a.py": "2\n"})
    event = {"before": "0" * 40, "repository": {"default_branch": "main"}}

    assert project.base(GITHUB_EVENT_PATH=event_file(tmp_path, event)).revision == left


def test_gitlab_names_the_base_of_a_merge_request_and_the_push_before(project):
    first = project.commit({"a.py": "1\n"})
    second = project.commit({"a.py": "2\n"})
    project.commit({"a.py": "3\n"})
    request = {"CI_MERGE_REQUEST_DIFF_BASE_SHA": first, "CI_COMMIT_BEFORE_SHA": "0" * 40}

    assert project.base(GITLAB_CI="true", **request).revision == first
    assert project.base(GITLAB_CI="true", CI_COMMIT_BEFORE_SHA=second).revision == second


def test_azure_names_the_target_of_a_pull_request(pull_request):
    clone, _base, tip = pull_request

    for name in ("main", "refs/heads/main"):
        assert clone.base(TF_BUILD="True", SYSTEM_PULLREQUEST_TARGETBRANCH=name).revision == tip


def test_a_shallow_clone_on_a_build_server_counts_every_file_and_says_how_to_do_better(pull_request, tmp_path):
    clone, _base, tip = pull_request
    shallow = clone_of(GitProject(clone.root), tmp_path / "shallow", "--depth=1")
    shallow.git("remote", "set-url", "origin", f"file://{clone.root}")
    clone.git("branch", "main", tip)
    env = {"GITHUB_ACTIONS": "true", "GITHUB_BASE_REF": "main", "GITHUB_REF": "refs/pull/7/merge"}
    (shallow.root / "left by the build.txt").touch()

    base = shallow.base(**env, FLAKEHOUND_FETCH="0")
    remedy = base.notes[0].partition("to compare with it: ")[2]
    shallow.git(*shlex.split(remedy)[1:])

    assert not base.is_commit
    assert {"a.py", "feature.py", "other.py"} <= set(shallow.changed(base.revision))
    assert "the pull request's base, main" in base.notes[0]
    assert shallow.base(**env).revision == tip


def test_a_merge_commit_on_github_has_its_base_without_the_branch(pull_request, tmp_path):
    clone, _base, tip = pull_request
    shallow = clone_of(clone, tmp_path / "shallow", "--depth=2")

    base = shallow.base(GITHUB_ACTIONS="true", GITHUB_BASE_REF="main", GITHUB_REF="refs/pull/7/merge")

    assert base.revision == tip


def test_a_shallow_clone_at_home_is_compared_with_what_it_cloned(project, tmp_path):
    project.commit({"a.py": "1\n"})
    head = project.commit({"a.py": "2\n"})
    shallow = clone_of(project, tmp_path / "shallow", "--depth=1")
    shallow.write({"a.py": "3\n"})

    assert shallow.repository.is_shallow
    assert shallow.base().revision == head
    assert shallow.base().doubt == "this clone has only 1 commit"


def test_a_revision_that_a_shallow_clone_lacks_comes_with_the_remedy_that_fetches_it(project, tmp_path):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    shallow = clone_of(project, tmp_path / "shallow", "--depth=1")

    with pytest.raises(NoSuchRevision) as error:
        shallow.base(since=first)
    shallow.git(*shlex.split(error.value.remedy or "")[1:])

    assert shallow.base(since=first).revision == first


def test_the_branch_is_reported(project):
    project.commit({"a.py": "1\n"})

    assert project.repository.branch() == "main"
