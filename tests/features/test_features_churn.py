"""How often lines changed: the same as `git log -L` says of each, in merges and under other names."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from git_histories import RandomHistory, changes_told_by_git, commit, git

from flakehound.engine.git.churn import Churn, churn_of


@pytest.fixture(autouse=True)
def own_git(monkeypatch):
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)


def told(churn: Churn, name: str, lines: int) -> list[int]:
    return [churn.of(f"{churn.top}/{name}", [line]) for line in range(1, lines + 1)]


@pytest.mark.parametrize(("seed", "most"), [(1, 75), (2, 75), (3, 10), (4, 10)])
def test_every_line_changed_as_often_as_git_says(tmp_path, seed, most):
    RandomHistory(seed=seed).write(tmp_path / "project")

    churn = churn_of(tmp_path / "project", most)

    for file in sorted((tmp_path / "project").glob("*.py")):
        for line in range(1, file.read_text().count("\n") + 1, 4):
            expected = changes_told_by_git(tmp_path / "project", file.name, line, most)
            assert churn.of(f"{churn.top}/{file.name}", [line]) == expected, (file.name, line)


def test_a_line_is_followed_through_edits_and_a_new_name(tmp_path):
    commit(tmp_path, {"old.py": "one = 1\ntwo = 2\nthree = 3\nfour = 4\n"})
    commit(tmp_path, {"old.py": "one = 1\ntwo = 22\nthree = 3\nfour = 4\n"})
    git(tmp_path, "mv", "old.py", "new.py")
    commit(tmp_path, {"new.py": "zero = 0\none = 1\ntwo = 222\nthree = 3\nfour = 4\n"})

    churn = churn_of(tmp_path)

    assert told(churn, "new.py", 5) == [1, 1, 3, 1, 1]


def test_only_the_last_commits_count(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 2\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 3\nb = 1\n"})

    assert told(churn_of(tmp_path, 2), "one.py", 2) == [2, 0]


def test_lines_are_numbered_as_in_the_working_tree(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\nb = 1\n"})
    commit(tmp_path, {"one.py": "a = 1\nb = 2\n"})
    (tmp_path / "one.py").write_text("new = 0\na = 1\nb = 2\n")
    (tmp_path / "untracked.py").write_text("c = 1\n")

    churn = churn_of(tmp_path)

    assert told(churn, "one.py", 3) == [0, 1, 2]
    assert told(churn, "untracked.py", 1) == [0]


def test_a_file_deleted_long_ago_lends_nothing_to_one_of_the_same_name(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\n" * 9, "other.py": ""})
    commit(tmp_path, {"one.py": "a = 2\n" * 9})
    git(tmp_path, "rm", "--quiet", "one.py")
    commit(tmp_path, {})
    commit(tmp_path, {"one.py": "completely = 'different'\n"})

    assert told(churn_of(tmp_path), "one.py", 1) == [1]


def test_settings_of_the_user_change_nothing(tmp_path):
    commit(tmp_path, {"one.py": "a = 1\n"})
    commit(tmp_path, {"one.py": "a = 2\n"})
    for name, value in {"diff.noprefix": "true", "diff.external": "false", "color.ui": "always"}.items():
        git(tmp_path, "config", name, value)

    assert told(churn_of(tmp_path), "one.py", 1) == [2]


def test_without_git_the_reason_is_told(tmp_path):
    churn = churn_of(tmp_path)

    assert "is in no git repository" in churn.problem
    assert churn.of(f"{tmp_path}/one.py", [1]) == 0


def shallow_clone(origin: Path, into: Path, depth: int) -> None:
    subprocess.run(["git", "clone", "--quiet", f"--depth={depth}", f"file://{origin}", str(into)], check=True)


def test_a_shallow_clone_tells_only_what_it_holds(tmp_path):
    for number in range(6):
        commit(tmp_path / "origin", {"one.py": f"a = {number}\n"})
    shallow_clone(tmp_path / "origin", tmp_path / "clone", 4)

    enough, too_few = churn_of(tmp_path / "clone", 3), churn_of(tmp_path / "clone", 75)

    assert told(enough, "one.py", 1) == [3]
    assert too_few.problem == "the clone is shallow and holds only 4 of the last commits"
    assert too_few.remedy == "git fetch --unshallow"
