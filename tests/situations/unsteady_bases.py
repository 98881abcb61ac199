"""Class 5: a bug that shows in half of the runs, where no base is known or the known one is wrong."""

from __future__ import annotations

import shutil

from .bases import note
from .project import Project
from .situation import Situations

UNSTEADY_BASES = Situations("5-unsteady-bases")

FILES = {
    "shop/cart.py": "from random import SystemRandom\n\n\ndef total(prices):\n    return sum(prices)\n",
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n",
    "tests/test_other.py": "def test_other():\n    assert True\n",
}
add = UNSTEADY_BASES.add


def bug(project: Project) -> None:
    """Let `total` be wrong in half of the calls."""
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + (SystemRandom().random() < 0.5)")
    project.commit("a bug")


@add("test_total", base_runs=False, sometimes=True, quick=True)
def there_is_no_repository(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    shutil.rmtree(project.folder / ".git")


@add("test_total", sometimes=True)
def the_repository_belongs_to_another_user(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    for path in (*project.folder.rglob("*"), project.folder):
        shutil.chown(path, 4321, 4321)


@add("test_total", base_runs=False, sometimes=True)
def a_clone_has_one_commit(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    project.clone("--depth", "1", "-b", "work")


@add("test_total", base_runs=False, sometimes=True)
def a_clone_has_two_commits_and_the_bug_is_in_an_earlier_one(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    note(project, "more.txt")
    project.clone("--depth", "2", "-b", "work")


@add("test_total", base_runs=False, sometimes=True)
def a_clone_has_the_branch_only_and_the_bug_is_in_its_first_commit(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    project.clone("--single-branch", "-b", "work")


@add("test_total", base_runs=False, sometimes=True)
def the_default_branch_is_called_trunk(project: Project) -> None:
    project.git("checkout", "-q", "-b", "trunk")
    project.start(FILES, stored=True)
    bug(project)
    note(project)


@add("test_total", base_runs=False, sometimes=True)
def a_stray_file_is_on_main_and_the_bug_in_the_last_commit(project: Project) -> None:
    project.write_all(FILES)
    project.green()
    bug(project)
    project.write("scratch.txt", "remember the milk\n")


@add("test_total", base_runs=False, sometimes=True)
def an_edit_is_not_committed_and_the_bug_is_in_the_last_commit(project: Project) -> None:
    project.write_all(FILES)
    project.green()
    bug(project)
    project.write("tests/test_other.py", "def test_other():\n    assert 1\n")


@add("test_total", base_runs=False, sometimes=True)
def git_is_not_installed(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    project.env["PATH"] = str(project.room)
