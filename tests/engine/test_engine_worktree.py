"""The base is checked out in a separate tree, and nothing is left of it."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from base_samples import BAD, GOOD
from git_projects import GitProject

from flakehound.engine.git.worktree import BaseTree, NoTree, temporary_checkout
from flakehound.engine.processes.launch import Target

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def project(own_git, tmp_path):
    """A project whose last change, not yet committed, breaks its test."""
    made = GitProject(tmp_path / "project")
    made.commit(GOOD)
    made.write(BAD)
    return made


def test_the_base_is_there_and_the_users_tree_stays_as_it_is(project):
    before = project.state()

    with temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        text = (tree.top / "calc.py").read_text()
        folder = tree.folder

    assert text == GOOD["calc.py"]
    assert not folder.exists()
    assert project.state() == before
    assert (project.root / "calc.py").read_text() == BAD["calc.py"]


def test_an_exception_leaves_no_trace_either(project):
    before = project.state()

    with contextlib.suppress(ZeroDivisionError), temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        (tree.top / "calc.py").write_text("changed")
        raise ZeroDivisionError

    assert project.state() == before
    assert not tree.folder.exists()


def test_a_tree_that_was_removed_meanwhile_leaves_no_trace_either(project):
    before = project.state()

    with temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        for path in sorted(tree.top.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()
        tree.top.rmdir()

    assert project.state() == before


def test_trees_of_a_killed_process_are_removed_by_the_next_and_the_users_own_trees_stay(project, tmp_path):
    project.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "mine"))
    (tmp_path / "mine").rename(tmp_path / "unplugged")
    before = project.state()
    script = (
        "import pathlib, time, sys\n"
        "from flakehound.engine.git.repository import open_repository\n"
        "from flakehound.engine.git.worktree import temporary_checkout\n"
        "with temporary_checkout(open_repository(pathlib.Path(sys.argv[1])), 'HEAD') as tree:\n"
        "    print(tree.folder, flush=True)\n"
        "    time.sleep(600)\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", script, str(project.root)], stdout=subprocess.PIPE, text=True)
    assert killed.stdout is not None
    folder = Path(killed.stdout.readline().strip())
    killed.send_signal(signal.SIGKILL)
    killed.wait()
    killed.stdout.close()
    assert project.state() != before

    with temporary_checkout(project.repository, "HEAD"):
        pass

    assert project.state() == before
    assert not folder.exists()


def test_a_revision_that_cannot_be_checked_out_is_reported(project):
    before = project.state()

    with temporary_checkout(project.repository, "0" * 40) as tree:
        assert isinstance(tree, NoTree)

    assert "could not check" in tree.why
    assert project.state() == before


def test_the_users_hooks_do_not_run(project):
    hook = project.root / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {project.root}/hooked\n")
    hook.chmod(0o755)

    with temporary_checkout(project.repository, "HEAD"):
        pass

    assert not (project.root / "hooked").exists()


def test_paths_have_a_counterpart_and_arguments_follow(project, tmp_path):
    root = project.root
    (tmp_path / "link").symlink_to(root)
    arguments = (
        f"{root}/test_calc.py::test_add",
        f"--confcutdir={root}",
        "-o",
        f"pythonpath={root}/src",
        "/elsewhere",
        "-k",
        "a=b",
    )
    target = Target(python=sys.executable, cwd=root, pytest_args=arguments)

    with temporary_checkout(project.repository, "HEAD") as tree:
        assert isinstance(tree, BaseTree)
        mapped = tree.target(target)
        linked = tree.counterpart(tmp_path / "link" / "calc.py")

    top = tree.top
    assert mapped.cwd == top
    assert linked == top / "calc.py"
    assert mapped.pytest_args == (
        *(f"{top}/test_calc.py::test_add", f"--confcutdir={top}", "-o", f"pythonpath={top}/src"),
        *("/elsewhere", "-k", "a=b"),
    )
