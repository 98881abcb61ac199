"""Changed files and base revisions from git, or why they are unknown; the user's repository is not changed."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
from pathlib import Path

import pytest
from engine_samples import write_files

from flakehound.engine.git import changed_files as changed_files_module
from flakehound.engine.git.changed_files import ChangedFile, changed_files, is_dirty
from flakehound.engine.git.repository import NoRepository, Repository, open_repository
from flakehound.engine.git.revisions import NoSuchRevision, base_revision

OUTER = ("GITHUB_", "GITLAB_", "CI", "SYSTEM_PULLREQUEST", "TF_BUILD", "GIT_")


@pytest.fixture(autouse=True)
def own_git(monkeypatch, tmp_path):
    """No settings of the machine, and no build server around us."""
    for name in list(os.environ):
        if name.startswith(OUTER):
            monkeypatch.delenv(name)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ann@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


class GitProject:
    """A repository to change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.rstrip("\n")

    def write(self, files) -> None:
        write_files(self.root, files)

    def commit(self, files=None, message: str = "work") -> str:
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    @property
    def repository(self) -> Repository:
        opened = open_repository(self.root)
        assert isinstance(opened, Repository), opened
        return opened

    def base(self, since: str | None = None, **env: str):
        return base_revision(self.repository, since=since, env=env)

    def changed(self, base: str = "HEAD", **wishes) -> dict[str, ChangedFile]:
        told = changed_files(self.repository, base, **wishes)
        assert not told.problem
        return {file.path: file for file in told.files}

    def state(self) -> list[str]:
        """Everything that must not change because we asked."""
        commands = (
            "status --porcelain --ignored",
            "worktree list",
            "branch --all --verbose",
            "stash list",
            "reflog",
            "config --list --local",
            "ls-files --stage",
        )
        return [self.git(*command.split()) for command in commands]


@pytest.fixture
def project(tmp_path):
    return GitProject(tmp_path / "project")


def statuses(changed: dict[str, ChangedFile]) -> dict[str, str]:
    return {path: file.status for path, file in changed.items()}


def clone_of(project: GitProject, folder: Path, *options: str) -> GitProject:
    subprocess.run(["git", "clone", "--quiet", *options, f"file://{project.root}", str(folder)], check=True)
    return GitProject(folder)


# -- is there a repository --


def test_a_folder_outside_every_repository_is_reported(tmp_path):
    opened = open_repository(tmp_path)

    assert opened == NoRepository(why=f"{tmp_path} is in no git repository")


def test_a_machine_without_git_is_reported(project, monkeypatch):
    project.commit({"a.py": ""})
    monkeypatch.setenv("PATH", "/nowhere")

    opened = open_repository(project.root)

    assert opened == NoRepository(why="git is not installed")


def test_a_repository_without_a_commit_is_reported(project):
    opened = open_repository(project.root)

    assert isinstance(opened, NoRepository)
    assert "no commit yet" in opened.why


def test_a_bare_repository_is_reported(tmp_path):
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path)], check=True)

    opened = open_repository(tmp_path)

    assert isinstance(opened, NoRepository)
    assert "no working tree" in opened.why


def test_a_repository_of_another_user_is_reported_with_the_remedy(project, monkeypatch):
    project.commit({"a.py": ""})
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")

    opened = open_repository(project.root)

    assert isinstance(opened, NoRepository)
    assert "does not trust" in opened.why
    assert opened.remedy is not None
    assert opened.remedy.startswith("git config --global --add safe.directory")


def test_a_folder_that_the_repository_around_it_ignores_is_reported(project):
    project.commit({".gitignore": "unpacked/\n"})
    project.write({"unpacked/inner/test_it.py": ""})

    opened = open_repository(project.root / "unpacked" / "inner")

    assert isinstance(opened, NoRepository)
    assert "ignores" in opened.why


def test_the_variables_that_git_sets_for_hooks_do_not_lead_astray(project, monkeypatch, tmp_path):
    project.commit({"a.py": ""})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "nowhere"))
    monkeypatch.setenv("GIT_INDEX_FILE", str(tmp_path / "index"))

    assert project.repository.top == project.root


# -- what changed --


def test_staged_unstaged_committed_and_untracked_changes_are_reported_in_one(project):
    base = project.commit({"one.py": "1\n", "two.py": "2\n", "three.py": "3\n", "same.py": "s\n"})
    project.commit({"one.py": "11\n"})
    project.write({"two.py": "22\n"})
    project.git("add", "two.py")
    project.write({"two.py": "222\n", "three.py": "33\n", "new.py": "n\n"})

    changed = project.changed(base)

    assert statuses(changed) == {
        "one.py": "modified",
        "two.py": "modified",
        "three.py": "modified",
        "new.py": "added",
    }
    assert (changed["two.py"].before, changed["two.py"].after) == (b"2\n", b"222\n")
    assert (changed["new.py"].before, changed["new.py"].after) == (None, b"n\n")


def test_a_change_of_comments_alone_is_reported_with_both_versions(project):
    project.commit({"a.py": "x = 1\n"})
    project.write({"a.py": "x = 1  # one\n"})

    file = project.changed()["a.py"]

    assert (file.before, file.after) == (b"x = 1\n", b"x = 1  # one\n")


def test_a_rename_is_reported_with_both_names(project):
    project.commit({"old.py": "def f():\n    return 1\n" * 20})
    project.git("mv", "old.py", "new.py")

    (file,) = project.changed().values()

    assert (file.status, file.old_path, file.path) == ("renamed", "old.py", "new.py")
    assert file.before == file.after


def test_deletions_staged_and_not_are_reported(project):
    project.commit({"staged.py": "1\n", "removed.py": "2\n"})
    project.git("rm", "--quiet", "staged.py")
    (project.root / "removed.py").unlink()

    changed = project.changed()

    assert statuses(changed) == {"staged.py": "deleted", "removed.py": "deleted"}
    assert changed["removed.py"].before == b"2\n"
    assert changed["removed.py"].after is None


def test_a_file_taken_out_of_the_index_and_left_on_disk_is_reported_only_if_it_differs(project):
    project.commit({"same.py": "1\n", "other.py": "1\n"})
    project.git("rm", "--quiet", "--cached", "same.py", "other.py")
    project.write({"other.py": "2\n"})

    assert statuses(project.changed()) == {"other.py": "modified"}


def test_a_file_that_was_only_touched_is_no_change(project):
    project.commit({"a.py": "1\n"})
    os.utime(project.root / "a.py", (1, 1))

    assert project.changed() == {}
    assert not is_dirty(project.repository)


def test_a_file_that_git_is_configured_to_ignore_is_reported(project):
    project.commit({"hidden.py": "1\n", "untouched.py": "1\n"})
    project.git("update-index", "--assume-unchanged", "hidden.py", "untouched.py")
    project.write({"hidden.py": "2\n"})

    changed = project.changed()

    assert statuses(changed) == {"hidden.py": "modified"}
    assert changed["hidden.py"].before == b"1\n"


def test_modes_links_and_binary_and_large_files_are_reported(project, monkeypatch):
    monkeypatch.setattr(changed_files_module, "MAX_FILE_BYTES", 1000)
    project.commit({"script.sh": "echo\n", "file.txt": "text\n", "large.txt": "x"})
    (project.root / "script.sh").chmod(0o755)
    (project.root / "file.txt").unlink()
    (project.root / "file.txt").symlink_to("script.sh")
    (project.root / "image.png").write_bytes(b"\x89PNG\0\0")
    (project.root / "large.txt").write_text("x" * 1001)

    changed = project.changed()

    assert (changed["script.sh"].mode_before, changed["script.sh"].mode_after) == ("100644", "100755")
    assert (changed["file.txt"].mode_after, changed["file.txt"].after) == ("120000", b"script.sh")
    assert changed["image.png"].is_binary
    assert changed["large.txt"].after is None
    assert changed["large.txt"].unread == "it is too large"


def test_names_beyond_ascii_and_with_spaces_and_line_ends_are_reported_as_they_are(project):
    project.commit({"übung é.py": "1\n"})
    project.write({"übung é.py": "2\n", "日本 語.txt": "n\n", "two\nlines.txt": "n\n"})

    assert statuses(project.changed()) == {
        "übung é.py": "modified",
        "日本 語.txt": "added",
        "two\nlines.txt": "added",
    }


def test_ignored_files_caches_and_our_own_output_are_no_change(project, tmp_path):
    project.commit({".gitignore": "*.log\n"})
    project.write(
        {
            "a.log": "",
            ".flakehound/store.db": "",
            "tests/__pycache__/a.pyc": "",
            ".pytest_cache/v": "",
            "out/triage.json": "{}",
            "mine/a.txt": "",
        }
    )

    changed = project.changed(excluded=[project.root / "out" / "triage.json", project.root / "mine"])

    assert changed == {}


def test_an_untracked_virtual_environment_is_no_change(project):
    project.commit({"a.py": ""})
    project.write({"env/pyvenv.cfg": "", "env/lib/x.py": "", "environment.py": ""})

    assert set(project.changed()) == {"environment.py"}


def test_a_repository_inside_the_repository_is_reported_as_a_whole(project):
    project.commit({"a.py": ""})
    GitProject(project.root / "inner").commit({"b.py": ""})

    assert project.changed()["inner"].mode_after == "160000"


def test_a_submodule_that_moved_is_reported(project, tmp_path):
    library = GitProject(tmp_path / "library")
    library.commit({"lib.py": "1\n"})
    project.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.root), "lib")
    project.commit()
    GitProject(project.root / "lib").commit({"lib.py": "2\n"})

    file = project.changed()["lib"]

    assert (file.status, file.mode_before, file.mode_after) == ("modified", "160000", "160000")


def test_a_project_in_a_folder_of_the_repository_sees_changes_in_other_folders(project):
    project.commit({"service/test_it.py": "", "shared/lib.py": "1\n"})
    project.write({"shared/lib.py": "2\n"})

    opened = open_repository(project.root / "service")

    assert isinstance(opened, Repository)
    assert [file.path for file in changed_files(opened, "HEAD").files] == ["shared/lib.py"]


def test_settings_of_the_user_do_not_change_what_is_reported(project):
    project.commit({"a.py": "1\n", "inner/b.py": "2\n"})
    for setting in ("diff.relative=true", "diff.noprefix=true", "diff.external=false", "color.ui=always"):
        project.git("config", *setting.split("="))
    project.git("config", "diff.renames", "copies")
    project.write({"a.py": "11\n", "inner/b.py": "22\n"})

    opened = open_repository(project.root / "inner")

    assert isinstance(opened, Repository)
    assert [file.path for file in changed_files(opened, "HEAD").files] == ["a.py", "inner/b.py"]


def test_a_sparse_checkout_is_reported_without_the_files_left_out(project):
    project.commit({"here/a.py": "1\n", "there/b.py": "2\n"})
    project.git("sparse-checkout", "set", "here")
    project.write({"here/a.py": "11\n"})

    assert statuses(project.changed()) == {"here/a.py": "modified"}


def test_files_in_conflict_are_reported_once(project):
    base = project.commit({"a.py": "1\n"})
    project.git("checkout", "--quiet", "-b", "side")
    project.commit({"a.py": "side\n"})
    project.git("checkout", "--quiet", "main")
    project.commit({"a.py": "main\n"})
    subprocess.run(["git", "merge", "side"], cwd=project.root, capture_output=True, check=False)

    changed = project.changed(base)

    assert statuses(changed) == {"a.py": "modified"}
    assert b"<<<<<<<" in (changed["a.py"].after or b"")


def test_reading_changes_leaves_no_trace_in_the_repository(project):
    project.commit({"a.py": "1\n"})
    project.write({"a.py": "2\n", "b.py": ""})
    before, index = project.state(), (project.root / ".git" / "index").read_bytes()

    project.changed(project.base().revision)

    assert (project.root / ".git" / "index").read_bytes() == index
    assert project.state() == before


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


def test_on_the_default_branch_the_uncommitted_changes_are_the_change(project):
    project.commit({"a.py": "1\n"})
    head = project.commit({"a.py": "2\n"})
    project.write({"a.py": "3\n"})

    assert project.base().revision == head


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

    base = shallow.base(**env)
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


def test_a_revision_that_a_shallow_clone_lacks_comes_with_the_remedy_that_fetches_it(project, tmp_path):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    shallow = clone_of(project, tmp_path / "shallow", "--depth=1")

    with pytest.raises(NoSuchRevision) as error:
        shallow.base(since=first)
    shallow.git(*shlex.split(error.value.remedy or "")[1:])

    assert shallow.base(since=first).revision == first


def test_the_commits_of_a_change_are_reported(project):
    first = project.commit({"a.py": "1\n"})
    second = project.commit({"a.py": "2\n"})

    assert project.repository.commits_since(first) == {second}
    assert project.repository.branch() == "main"
