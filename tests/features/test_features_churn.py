"""How often lines changed: the same as by `git log -L`, also with merges and renames."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from git_histories import RandomHistory, changes_by_git_log, commit, git

from flakehound.engine.git.churn import Churn, churn_of


@pytest.fixture(autouse=True)
def own_git(monkeypatch):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)


def changes_of_lines(churn: Churn, name: str, lines: int) -> list[int]:
    return [churn.of(f"{churn.top}/{name}", [line]) for line in range(1, lines + 1)]


@pytest.mark.parametrize(("seed", "max_commits"), [(1, 75), (2, 75), (3, 10), (4, 10)])
def test_the_changes_of_every_line_are_those_of_git_log(tmp_path, seed, max_commits):
    RandomHistory(seed=seed).write(tmp_path / "project")

    churn = churn_of(tmp_path / "project", max_commits)

    for file in sorted((tmp_path / "project").glob("*.py")):
        for line in range(1, file.read_text().count("\n") + 1, 4):
            expected = changes_by_git_log(tmp_path / "project", file.name, line, max_commits)
            assert churn.of(f"{churn.top}/{file.name}", [line]) == expected, (file.name, line)


def test_a_line_is_followed_through_edits_and_a_rename(tmp_path):
    commit(tmp_path, {"old.py": "one = 1\ntwo = 2\nthree = 3\nfour = 4\n"})
    commit(tmp_path, {"old.py": "one = 1\ntwo = 22\nthree = 3\nfour = 4\n"})
    git(tmp_path, "mv", "old.py", "new.py")
    commit(tmp_path, {"new.py": "zero = 0\none = 1\ntwo = 222\nthree = 3\nfour = 4\n"})

    churn = churn_of(tmp_path)

    assert changes_of_lines(churn, "new.py", 5) == [1, 1, 3, 1, 1]


def test_only_the_last_commits_are_counted(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 2\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 3\nb = 1\n"})

    assert changes_of_lines(churn_of(tmp_path, 2), "one.py", 2) == [2, 0]


def test_lines_are_numbered_as_in_the_working_tree(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 1\nb = 2\n"})
    (tmp_path / "one.py").write_text("new = 0\na = 1\nb = 2\n")
    (tmp_path / "untracked.py").write_text("c = 1\n")

    churn = churn_of(tmp_path)

    assert changes_of_lines(churn, "one.py", 3) == [0, 1, 2]
    assert changes_of_lines(churn, "untracked.py", 1) == [0]


def test_changes_of_a_deleted_file_do_not_count_for_a_new_one_of_the_same_name(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\n" * 9, "other.py": ""})
    commit(tmp_path, {"one.py": "a = 2\n" * 9})
    git(tmp_path, "rm", "--quiet", "one.py")
    commit(tmp_path, {})
    commit(tmp_path, {"one.py": "completely = 'different'\n"})

    assert changes_of_lines(churn_of(tmp_path), "one.py", 1) == [1]


def test_git_settings_of_the_user_have_no_effect(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\n"})
    commit(tmp_path, {"one.py": "a = 2\n"})
    for name, value in {"diff.noprefix": "true", "diff.external": "false", "color.ui": "always"}.items():
        git(tmp_path, "config", name, value)

    assert changes_of_lines(churn_of(tmp_path), "one.py", 1) == [2]


def test_without_a_repository_there_is_a_reason(tmp_path):
    churn = churn_of(tmp_path)

    assert "is in no git repository" in churn.problem
    assert churn.of(f"{tmp_path}/one.py", [1]) == 0


def shallow_clone(origin: Path, into: Path, depth: int) -> None:
    subprocess.run(["git", "clone", "--quiet", f"--depth={depth}", f"file://{origin}", str(into)], check=True)


def test_a_shallow_clone_with_too_few_commits_has_no_changes(tmp_path):
    for number in range(6):
        commit(tmp_path / "origin", {"one.py": f"a = {number}\n"})
    shallow_clone(tmp_path / "origin", tmp_path / "clone", 4)

    enough, too_few = churn_of(tmp_path / "clone", 3), churn_of(tmp_path / "clone", 75)

    assert changes_of_lines(enough, "one.py", 1) == [3]
    assert too_few.problem == "the clone is shallow and holds only 4 of the last commits"
    assert too_few.remedy == "git fetch --unshallow"
