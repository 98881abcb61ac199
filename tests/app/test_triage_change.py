"""What a triage compares: the base, the files of the change, and the clause that says it."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from flakehound.app.triage.answer import TriageAnswer
from flakehound.app.triage.change import change_of
from flakehound.app.triage.failing_run import FailingRun, TriageOptions


class Checkout:
    """A project with a repository, and failing runs of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        who = ("-c", "user.name=a", "-c", "user.email=a@b")
        self.folder.mkdir(exist_ok=True)
        done = subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def commit(self, text: str) -> str:
        (self.folder / "a.py").write_text(text)
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "work")
        return self.git("rev-parse", "--short", "HEAD")

    def change(self, since: str | None = None):
        return change_of(failing_run(self.folder, since))


def failing_run(folder: Path, since: str | None = None) -> FailingRun:
    options = TriageOptions(
        forked=0,
        since=since,
        intersect=True,
        check_base=False,
        json_file=None,
        store=folder / ".flakehound" / "flakehound.db",
        seed=0,
    )
    return FailingRun(
        rootdir=folder,
        cwd=folder,
        python="python",
        pytest_args=(),
        options=options,
        tests=1,
        started_s=0.0,
        processes=(),
        failures=(),
        not_rerun="",
        rerun_by_others=(),
        notes=(),
    )


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Checkout:
    for name in ("CI", "GITHUB_ACTIONS", "GITHUB_BASE_REF", "GITHUB_EVENT_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    return Checkout(tmp_path / "project")


def test_the_clause_names_the_commit_its_origin_and_the_uncommitted_files(checkout):
    left = checkout.commit("x = 1\n")
    checkout.git("checkout", "--quiet", "-b", "feature")
    checkout.commit("x = 2\n")
    (checkout.folder / "a.py").write_text("x = 3\n")
    (checkout.folder / "b.py").write_text("y = 1\n")

    change = checkout.change()

    assert change.since_why == f"compared with {left}, where this branch left main, with 2 uncommitted files"
    assert change.base_doubt == ""


def test_a_clean_tree_has_nothing_uncommitted_to_name(checkout):
    first = checkout.commit("x = 1\n")
    checkout.commit("x = 2\n")

    assert checkout.change().since_why == f"compared with {first}, before the last commit"


def test_a_doubtful_base_says_so_in_the_clause_and_in_the_json_object(checkout, tmp_path):
    for number in range(3):
        checkout.commit(f"x = {number}\n")
    shallow = tmp_path / "shallow"
    url = f"file://{checkout.folder}"
    subprocess.run(["git", "clone", "--quiet", "--depth=2", url, str(shallow)], check=True)

    change = change_of(failing_run(shallow))
    written = TriageAnswer(change=change, verdicts=(), notes=()).as_json()

    assert change.since_why.endswith("; perhaps not the whole change: this clone has only 2 commits")
    assert json.loads(json.dumps(written))["since_doubt"] == "this clone has only 2 commits"


def test_a_base_without_doubt_has_none_in_the_json_object(checkout):
    checkout.commit("x = 1\n")
    checkout.commit("x = 2\n")

    written = TriageAnswer(change=checkout.change(), verdicts=(), notes=()).as_json()

    assert written["since_doubt"] is None
    assert written["since_why"].startswith("compared with")


def test_a_folder_is_the_base_of_a_project_without_git(tmp_path):
    now, before = tmp_path / "now", tmp_path / "before"
    now.mkdir()
    (now / "a.py").write_text("x = 1\n")
    shutil.copytree(now, before)
    (now / "a.py").write_text("x = 2\n")

    change = change_of(failing_run(now, since="../before"))

    assert (change.repository, change.problem, change.top) == (None, "", now)
    assert change.python_files == (now / "a.py",)
    assert change.since_why == "compared with the folder ../before, as asked"


def test_a_folder_is_the_base_in_a_repository_as_well(checkout, tmp_path):
    checkout.commit("x = 1\n")
    shutil.copytree(checkout.folder, tmp_path / "before", ignore=shutil.ignore_patterns(".git"))
    checkout.commit("x = 2\n")

    change = checkout.change(since=str(tmp_path / "before"))

    assert change.base is not None
    assert (change.base.folder, change.base.is_commit) == (tmp_path / "before", False)
    assert change.python_files == (checkout.folder / "a.py",)
    assert change.comparable == frozenset()  # any stored run may be of the change


def test_a_branch_is_preferred_to_a_folder_of_its_name(checkout):
    checkout.commit("x = 1\n")
    (checkout.folder / "main").mkdir()

    change = checkout.change(since="main")

    assert change.base is not None
    assert change.base.folder is None


def test_neither_a_commit_nor_a_folder_is_reported(checkout, tmp_path):
    checkout.commit("x = 1\n")
    plain = tmp_path / "plain"
    plain.mkdir()

    assert "'nowhere' is no commit" in checkout.change(since="nowhere").problem
    assert "is in no git repository" in change_of(failing_run(plain, since="nowhere")).problem
    assert "contains the tests" in change_of(failing_run(plain, since=".")).problem
