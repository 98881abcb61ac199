"""A run at the base counts only if it ended and used the base's own files; otherwise it says why not."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from base_samples import BAD, GOOD, TEST, OpenBase, opener
from environments import python_with
from git_projects import GitProject

from flakehound.core.outcomes import Outcome

pytestmark = pytest.mark.usefixtures("own_git")


@pytest.fixture
def project(own_git, tmp_path):
    """A project whose last change, not yet committed, breaks its test."""
    made = GitProject(tmp_path / "project")
    made.commit(GOOD)
    made.write(BAD)
    return made


@pytest.fixture
def open_base() -> Iterator[OpenBase]:
    with opener() as make:
        yield make


def test_a_base_that_does_not_collect_is_reported_with_the_reason(project, open_base):
    project.commit({"calc.py": "import no_such_dependency\n"})
    project.write(GOOD)

    runs = open_base(project).run_recorded((TEST,), seed=0)

    assert runs.records == ()
    assert "No module named 'no_such_dependency'" in runs.problem


def test_a_process_that_dies_at_the_base_proves_nothing(project, open_base):
    project.commit({"test_calc.py": "import os\ndef test_add(): os._exit(0)\n"})

    assert "took its process with it" in open_base(project).run_recorded((TEST,), seed=0).problem


def test_a_folder_that_the_change_added_is_reported(tmp_path, open_base):
    project = GitProject(tmp_path / "project")
    project.commit({"a.py": ""})
    project.write({f"service/{name}": text for name, text in GOOD.items()})

    runs = open_base(project, rootdir="service").run_recorded((TEST,), seed=0)

    assert "does not exist at the base" in runs.problem


def test_a_test_that_reads_the_changed_tree_proves_nothing_about_the_base(project, open_base):
    data = project.root / "data.txt"
    project.commit({"test_calc.py": f"def test_add(): open({str(data)!r}).close()\n", "data.txt": ""})

    assert "reads a file of the changed tree" in open_base(project).run_recorded((TEST,), seed=0).problem


def test_an_environment_in_the_repository_is_no_part_of_the_changed_tree(project, open_base):
    base = python_with("pytest")
    env = project.root / ".venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(env)], check=True)
    (there,) = Path(base).parent.parent.glob("lib/python*/site-packages")
    (here,) = env.glob("lib/python*/site-packages")
    (here / "pytest.pth").write_text(f"{there}\n")
    (here / "installed.py").write_text("X = 1\n")
    project.write({".gitignore": ".venv\n", "test_calc.py": "import installed\n" + GOOD["test_calc.py"]})
    project.commit()

    runs = open_base(project, python=str(env / "bin" / "python")).run_recorded((TEST,), seed=0)

    assert runs.problem == ""
    assert runs.outcomes == (Outcome.FAILED,)
