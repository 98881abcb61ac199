"""Repositories of another user: used by our own calls if the project has the same owner, and only then."""

from __future__ import annotations

import os
import subprocess

import pytest
from git_projects import GitProject

from flakehound.engine.git.changed_files import changed_files
from flakehound.engine.git.ownership import trusted_top
from flakehound.engine.git.repository import NoRepository, Repository, open_repository
from flakehound.engine.git.worktree import BaseTree, temporary_checkout
from flakehound_inside.triage.git_state import GitState

pytestmark = [
    pytest.mark.usefixtures("own_git"),
    pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away"),
]
ANOTHER, THIRD = 12345, 23456


def give(path, user: int, *, except_git: bool = False) -> None:
    os.chown(path, user, user)
    for parent, folders, files in os.walk(path):
        if except_git and ".git" in folders:
            folders.remove(".git")
        for name in (*folders, *files):
            os.chown(os.path.join(parent, name), user, user, follow_symlinks=False)


def test_a_repository_of_the_owner_of_the_project_is_used(project):
    project.commit({"a.py": "1\n"})
    project.write({"a.py": "2\n", "b.py": ""})
    give(project.root, ANOTHER)
    refused = subprocess.run(["git", "log"], cwd=project.root, capture_output=True, check=False)

    opened = open_repository(project.root)

    assert refused.returncode == 128
    assert isinstance(opened, Repository)
    assert [file.path for file in changed_files(opened, "HEAD").files] == ["a.py", "b.py"]


def test_a_folder_inside_such_a_repository_finds_it(project):
    project.commit({"service/a.py": "1\n"})
    project.write({"service/a.py": "2\n"})
    give(project.root, ANOTHER)

    opened = open_repository(project.root / "service")

    assert isinstance(opened, Repository)
    assert opened.top == project.root
    assert opened.branch() == "main"


def test_a_git_folder_of_another_user_than_its_tree_is_used(project):
    project.commit({"a.py": "1\n"})
    give(project.root, ANOTHER, except_git=True)

    assert isinstance(open_repository(project.root), Repository)


def test_a_linked_worktree_of_another_user_is_used(project, tmp_path):
    project.commit({"a.py": "1\n"})
    project.git("worktree", "add", "--quiet", str(tmp_path / "linked"))
    give(project.root, ANOTHER)
    give(tmp_path / "linked", ANOTHER)

    opened = open_repository(tmp_path / "linked")

    assert isinstance(opened, Repository)
    assert (opened.top, opened.branch()) == (tmp_path / "linked", "linked")


def test_a_submodule_of_another_user_is_compared(project, tmp_path):
    GitProject(tmp_path / "library").commit({"lib.py": "1\n"})
    project.git(
        "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "lib"
    )
    project.commit()
    GitProject(project.root / "lib").commit({"lib.py": "2\n"})
    give(project.root, ANOTHER)

    opened = open_repository(project.root)

    assert isinstance(opened, Repository)
    changes = changed_files(opened, "HEAD")
    assert [(file.path, file.mode_after) for file in changes.files] == [("lib", "160000")]


def test_a_repository_of_another_user_can_be_checked_out(project):
    first = project.commit({"a.py": "1\n"})
    project.commit({"a.py": "2\n"})
    give(project.root, ANOTHER)
    opened = open_repository(project.root)
    assert isinstance(opened, Repository)

    with temporary_checkout(opened, first) as tree:
        assert isinstance(tree, BaseTree)
        content = (tree.top / "a.py").read_text()

    assert content == "1\n"


def test_a_repository_that_a_third_user_put_around_the_project_is_refused_with_the_remedy(project):
    project.commit({"mine/a.py": "1\n"})
    give(project.root, THIRD)
    give(project.root / "mine", ANOTHER)

    opened = open_repository(project.root / "mine")

    assert trusted_top(project.root / "mine") is None
    assert isinstance(opened, NoRepository)
    assert "does not trust" in opened.why
    assert (opened.remedy or "").startswith("git config --global --add safe.directory")


def test_no_settings_are_written_for_a_repository_of_another_user(project, tmp_path, monkeypatch):
    project.commit({"a.py": "1\n"})
    settings = tmp_path / "settings"
    settings.write_text("[user]\n\tname = Ann\n")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(settings))
    before = (settings.read_text(), (project.root / ".git" / "config").read_text())
    give(project.root, ANOTHER)

    open_repository(project.root)

    assert (settings.read_text(), (project.root / ".git" / "config").read_text()) == before


def test_a_green_run_in_a_repository_of_another_user_has_its_commit(project):
    commit = project.commit({"tests/a.py": "1\n"})
    give(project.root, ANOTHER)
    state = GitState()

    state.start(str(project.root / "tests"), os.environ)
    state.read()

    assert state.facts() == {"commit": commit, "branch": "main"}
