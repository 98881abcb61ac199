"""Commit and branch of a green run: a real git runs while pytest collects, and is read before the first test."""

from __future__ import annotations

import json
import os
import subprocess

import pytest
from plugin_projects import Suite

from flakehound_inside.triage import git_state
from flakehound_inside.triage.git_state import GitState

WHO = ("-c", "user.name=a", "-c", "user.email=a@b")
UNKNOWN = {"commit": None, "branch": ""}
GREEN = "def test_it(): pass\n"
# Of a process, whether it has a child; what a test that waits for all of its children asks.
CHILDLESS = """
    import os, pytest

    def test_it():
        with pytest.raises(ChildProcessError):
            os.waitpid(-1, os.WNOHANG)
"""
# After the session has started, and before its first test.
WAITS = """
    import os

    def pytest_collect_file():
        try:
            while True:
                os.wait()
        except ChildProcessError:
            pass
"""


@pytest.fixture
def checkout(suite: Suite) -> Suite:
    suite.write({"wares.py": "one = 1\n", ".gitignore": "*.log\n"})
    for words in (("init", "-q", "-b", "main"), ("add", "-A"), (*WHO, "commit", "-qm", "one")):
        git(suite, *words)
    return suite


@pytest.fixture
def patience(monkeypatch):
    # A machine that is busy may need longer than a user's green run should wait.
    monkeypatch.setattr(git_state, "_MAX_WAIT_S", 60.0)


def git(suite: Suite, *words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=suite.folder, check=True, capture_output=True, text=True
    ).stdout.strip()


def facts_of(suite: Suite, **variables: str) -> dict[str, object]:
    state = GitState()
    state.start(str(suite.folder), {**os.environ, **variables})
    state.read()
    return state.facts()


def pending_run(suite: Suite) -> dict[str, object]:
    [path] = (suite.folder / ".flakehound" / "runs").glob("*.json")
    return json.loads(path.read_text())


def a_git_that(suite: Suite, script: str) -> str:
    """A PATH whose first git is this script."""
    folder = suite.folder.parent / "bin"
    folder.mkdir()
    (folder / "git").write_text("#!/bin/sh\n" + script)
    (folder / "git").chmod(0o755)
    return f"{folder}:{os.environ['PATH']}"


@pytest.mark.usefixtures("patience")
def test_a_clean_checkout_has_a_commit_and_a_branch(checkout):
    assert facts_of(checkout) == {"commit": git(checkout, "rev-parse", "HEAD"), "branch": "main"}


@pytest.mark.usefixtures("patience")
@pytest.mark.parametrize(
    ("name", "marked"),
    [
        ("wares.py", True),
        ("new.py", True),
        ("new/data.txt", True),
        ("a.log", False),
        ("__pycache__/wares.cpython-311.pyc", False),
        (".pytest_cache/x", False),
    ],
)
def test_files_that_differ_mark_the_commit_unless_ignored_or_made_by_running(checkout, name, marked):
    checkout.write({name: "two = 2\n"})

    assert str(facts_of(checkout)["commit"]).endswith("-dirty") is marked


@pytest.mark.usefixtures("patience")
def test_without_a_commit_a_repository_or_git_nothing_is_known(suite, monkeypatch):
    outside = {"GIT_CEILING_DIRECTORIES": str(suite.folder.parent)}
    assert facts_of(suite, **outside) == UNKNOWN
    git(suite, "init", "-q", "-b", "main")
    assert facts_of(suite) == {"commit": None, "branch": "main"}
    monkeypatch.setenv("PATH", "/nowhere")
    assert facts_of(suite) == UNKNOWN


@pytest.mark.usefixtures("patience")
def test_output_that_is_larger_than_a_pipe_is_read_completely(checkout):
    checkout.write({f"{number:0200}.txt": "" for number in range(1000)})

    assert facts_of(checkout) == {"commit": git(checkout, "rev-parse", "HEAD") + "-dirty", "branch": "main"}


def test_a_git_whose_output_is_not_read_leaves_neither_a_child_nor_a_descriptor(checkout):
    before = set(os.listdir("/proc/self/fd"))
    state = GitState()
    state.start(str(checkout.folder), os.environ)
    pid = state._pid

    state.discard()

    assert pid > 0
    with pytest.raises(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    assert set(os.listdir("/proc/self/fd")) == before
    assert state.facts() == UNKNOWN


def test_a_run_reports_the_commit_it_started_from_even_if_its_tests_change_the_checkout(checkout):
    test = """
        import time

        time.sleep(1)  # collecting takes a while, and git may be slow here

        def test_it():
            with open("wares.py", "w") as file:
                file.write("two = 2")
    """
    checkout.write({"test_it.py": test})
    git(checkout, "add", "-A")
    git(checkout, *WHO, "commit", "-qm", "two")

    ran = checkout.run()

    assert ran.code == 0, ran.out
    assert pending_run(checkout)["commit"] == git(checkout, "rev-parse", "HEAD")


@pytest.mark.parametrize("script", ["exec sleep 60\n", "echo '# branch.oid c0'; exec sleep 60\n", "exit 1\n"])
def test_no_test_has_a_child_process_of_ours_even_if_git_misbehaves(checkout, script):
    checkout.write({"test_it.py": CHILDLESS})

    ran = checkout.run(PATH=a_git_that(checkout, script))

    assert ran.code == 0, ran.out
    assert pending_run(checkout)["commit"] is None


def test_a_conftest_that_waits_for_every_child_costs_the_commit_and_nothing_else(checkout):
    checkout.write({"test_it.py": GREEN, "conftest.py": WAITS})

    ran = checkout.run()

    assert ran.code == 0, ran.out
    assert "flakehound" not in ran.out.partition("collected")[2]
    assert pending_run(checkout)["commit"] is None
