"""Tests run at the base in a separate tree, or a reason is reported why that would prove nothing."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from environments import python_with
from git_projects import GitProject

from flakehound.core.outcomes import NodeId, Outcome
from flakehound.engine.git.base_runs import BaseRuns, runs_at_base
from flakehound.engine.git.worktree import BaseTree, NoTree, temporary_checkout
from flakehound.engine.processes.launch import Target

pytestmark = pytest.mark.usefixtures("own_git")
TEST = NodeId("test_calc.py::test_add")
GOOD = {
    "pytest.ini": "[pytest]\n",
    "calc.py": "def add(a, b):\n    return a + b\n",
    "test_calc.py": "from calc import add\n\ndef test_add():\n    assert add(1, 2) == 3\n",
}
BAD = {"calc.py": "def add(a, b):\n    return a - b\n"}


@pytest.fixture
def project(own_git, tmp_path):
    """A project whose last change, not yet committed, breaks its test."""
    made = GitProject(tmp_path / "project")
    made.commit(GOOD)
    made.write(BAD)
    return made


def target_of(project: GitProject, *pytest_args: str, python: str = sys.executable, folder: str = ".") -> Target:
    return Target(python=python, cwd=project.root / folder, pytest_args=pytest_args)


def run_order_at_base(project: GitProject, *order: str, target: Target | None = None, **options) -> BaseRuns:
    repository = project.repository
    with temporary_checkout(repository, repository.head) as tree:
        assert isinstance(tree, BaseTree), tree
        return runs_at_base(tree, target or target_of(project), tuple(map(NodeId, order or (TEST,))), **options)


# -- the tree --


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
    target = target_of(
        project,
        f"{root}/test_calc.py::test_add",
        f"--confcutdir={root}",
        "-o",
        f"pythonpath={root}/src",
        "/elsewhere",
        "-k",
        "a=b",
    )

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


# -- runs in it --


def test_a_test_that_the_change_breaks_passes_at_the_base(project):
    told = run_order_at_base(project, times=2, seed=5)

    assert told.problem == ""
    assert told.outcomes == (Outcome.PASSED, Outcome.PASSED)
    assert [record.seed for record in told.records] == [5, 6]


def test_a_test_that_always_failed_fails_at_the_base_as_it_fails_here(project):
    project.commit({"test_calc.py": "def test_add(): raise ValueError(__file__)\n"})

    told = run_order_at_base(project)

    assert told.outcomes == (Outcome.FAILED,)
    assert told.records[0].failures[0].message == f"ValueError: {project.root / 'test_calc.py'}"


def test_a_test_runs_after_its_polluters(project):
    project.commit(
        {"test_order.py": "seen = []\ndef test_pollutes(): seen.append(1)\ndef test_victim(): assert not seen\n"}
    )
    pollutes, victim = "test_order.py::test_pollutes", "test_order.py::test_victim"

    assert run_order_at_base(project, victim).outcomes == (Outcome.PASSED,)
    assert run_order_at_base(project, pollutes, victim).outcomes == (Outcome.FAILED,)


def test_a_random_state_can_be_given(project, tmp_path):
    expected = random.Random(42).random()
    project.commit({"test_random.py": f"import random\ndef test_it(): assert random.random() == {expected!r}\n"})
    version, numbers, gauss = random.Random(42).getstate()
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"random": [version, list(numbers), gauss], "numpy": None, "seed": None}))

    assert run_order_at_base(project, "test_random.py::test_it").outcomes == (Outcome.FAILED,)
    assert run_order_at_base(project, "test_random.py::test_it", random_state=state).outcomes == (Outcome.PASSED,)


def test_a_test_that_the_change_added_is_reported_as_missing_at_the_base(project):
    project.write({"test_calc.py": GOOD["test_calc.py"] + "\ndef test_new():\n    pass\n"})

    told = run_order_at_base(project, "test_calc.py::test_new")

    assert told == BaseRuns(problem="test_calc.py::test_new does not exist at the base")


def test_a_file_that_the_change_added_is_reported_with_pytests_message(project):
    project.write({"test_new.py": "def test_new(): pass\n"})
    target = target_of(project, str(project.root / "test_new.py"))

    told = run_order_at_base(project, "test_new.py::test_new", target=target)

    assert told.records == ()
    assert "not found: test_new.py" in told.problem


def test_a_base_that_does_not_collect_is_reported_with_the_reason(project):
    project.commit({"calc.py": "import no_such_dependency\n"})
    project.write(GOOD)

    told = run_order_at_base(project)

    assert told.records == ()
    assert "No module named 'no_such_dependency'" in told.problem


def test_a_process_that_dies_at_the_base_proves_nothing(project):
    project.commit({"test_calc.py": "import os\ndef test_add(): os._exit(0)\n"})

    assert "took its process with it" in run_order_at_base(project).problem


def test_a_project_in_a_folder_of_its_repository_runs_in_the_counterpart(tmp_path):
    project = GitProject(tmp_path / "project")
    project.commit({f"service/{name}": text for name, text in GOOD.items()})
    project.write({f"service/{name}": text for name, text in BAD.items()})
    target = target_of(project, folder="service")

    told = run_order_at_base(project, target=target, rootdir=project.root / "service")

    assert told.outcomes == (Outcome.PASSED,)


def test_a_folder_that_the_change_added_is_reported(tmp_path):
    project = GitProject(tmp_path / "project")
    project.commit({"a.py": ""})
    project.write({f"service/{name}": text for name, text in GOOD.items()})

    told = run_order_at_base(project, target=target_of(project, folder="service"))

    assert "does not exist at the base" in told.problem


def test_modules_found_through_pythonpath_come_from_the_base(tmp_path, monkeypatch):
    project = in_src(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(project.root / "src"))

    assert run_order_at_base(project).outcomes == (Outcome.PASSED,)


def in_src(tmp_path: Path) -> GitProject:
    """A project whose module is in src/ and broken by the change."""
    project = GitProject(tmp_path / "project")
    project.commit({**GOOD, "calc.py": "", "src/calc.py": GOOD["calc.py"]} | {"calc.py": ""})
    project.git("rm", "--quiet", "calc.py")
    project.commit()
    project.write({"src/calc.py": BAD["calc.py"]})
    return project


def own_python(tmp_path: Path) -> tuple[str, Path]:
    """An interpreter with pytest to which a test may install; and its site-packages."""
    base = python_with("pytest")
    folder = tmp_path / "env"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (there,) = Path(base).parent.parent.glob("lib/python*/site-packages")
    (here,) = folder.glob("lib/python*/site-packages")
    (here / "pytest.pth").write_text(f"{there}\n")
    return str(folder / "bin" / "python"), here


def test_an_editable_install_by_path_imports_from_the_base(tmp_path):
    project = in_src(tmp_path)
    python, packages = own_python(tmp_path)
    (packages / "__editable__.calc.pth").write_text(f"{project.root / 'src'}\n")

    assert run_order_at_base(project, target=target_of(project, python=python)).outcomes == (Outcome.PASSED,)


FINDER = """
import sys
from importlib.machinery import PathFinder
MAPPING = {{"calc": {path!r}}}
class Finder:
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        if name in {names}:
            from importlib.util import spec_from_file_location
            return spec_from_file_location(name, {path!r} + ".py")
sys.meta_path.{how}
"""


@pytest.mark.parametrize(
    ("name", "how", "problem"),
    [
        ("__editable___calc_finder", "append(Finder)", ""),
        ("_calc_of_another_tool", "insert(0, Finder)", "the installed package points to the changed tree: calc"),
    ],
)
def test_an_editable_install_by_finder_imports_from_the_base_or_is_reported(tmp_path, name, how, problem):
    project = in_src(tmp_path)
    python, packages = own_python(tmp_path)
    finder = FINDER.format(path=str(project.root / "src" / "calc"), names=("calc",), how=how)
    (packages / f"{name}.py").write_text(finder)
    (packages / "calc.pth").write_text(f"import {name}\n")

    told = run_order_at_base(project, target=target_of(project, python=python))

    assert told.problem.startswith(problem)
    assert told.outcomes == (() if problem else (Outcome.PASSED,))


def test_an_installed_copy_proves_nothing_about_the_base(tmp_path):
    project = in_src(tmp_path)
    python, packages = own_python(tmp_path)
    (packages / "calc.py").write_text(BAD["calc.py"])

    told = run_order_at_base(project, target=target_of(project, python=python))

    assert "installed copy of calc" in told.problem


def test_a_test_that_reads_the_changed_tree_proves_nothing_about_the_base(project, monkeypatch):
    project.commit(
        {"test_calc.py": "import os\ndef test_add(): open(os.environ['DATA']).close()\n", "data.txt": ""}
    )
    monkeypatch.setenv("DATA", str(project.root / "data.txt"))

    assert "reads a file of the changed tree" in run_order_at_base(project).problem


def test_an_environment_in_the_repository_is_no_part_of_the_changed_tree(project):
    base = python_with("pytest")
    env = project.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (there,) = Path(base).parent.parent.glob("lib/python*/site-packages")
    (here,) = env.glob("lib/python*/site-packages")
    (here / "pytest.pth").write_text(f"{there}\n")
    (here / "installed.py").write_text("X = 1\n")
    project.write({".gitignore": ".venv\n", "test_calc.py": "import installed\n" + GOOD["test_calc.py"]})
    project.commit()

    told = run_order_at_base(project, target=target_of(project, python=str(env / "bin" / "python")))

    assert told.problem == ""
    assert told.outcomes == (Outcome.FAILED,)


def test_runs_at_the_base_leave_no_trace(project):
    before, files = project.state(), sorted(project.root.rglob("*"))

    run_order_at_base(project)

    assert project.state() == before
    assert [path for path in sorted(project.root.rglob("*")) if ".git" not in path.parts] == [
        path for path in files if ".git" not in path.parts
    ]
    assert not [path for path in Path(tempfile.gettempdir()).glob(f"fh-{os.getpid()}-*") if path.is_dir()]
