"""Changed files and base revisions from git, or why they are unknown; the user's repository is not changed."""

from __future__ import annotations

import os
import subprocess

import pytest
from git_projects import GitProject, statuses

from flakehound.engine.git import changed_files as changed_files_module
from flakehound.engine.git.changed_files import changed_files, is_dirty
from flakehound.engine.git.repository import NoRepository, Repository, open_repository

pytestmark = pytest.mark.usefixtures("own_git")


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
