"""Class 5: ways to check a repository out, and to change it, that a base must survive."""

from __future__ import annotations

import os

from .project import Project
from .situation import Situations

CHECKOUTS = Situations("5-checkouts")
add = CHECKOUTS.add
CART = "def total(prices):\n    return sum(prices)\n"
TOTAL = "from shop.cart import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
FILES = {"shop/cart.py": CART, "tests/test_total.py": TOTAL}


def bug(project: Project, path: str = "shop/cart.py") -> None:
    """Break `total`."""
    project.replace(path, "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


def note(project: Project, name: str = "notes.txt") -> None:
    """A commit that breaks nothing."""
    project.write(name, "a note\n")
    project.commit("a note")


@add("test_total")
def git_runs_pytest_in_a_hook(project: Project) -> None:
    project.start(FILES)
    bug(project)
    project.env |= {"GIT_DIR": ".git", "GIT_INDEX_FILE": ".git/index", "GIT_PREFIX": ""}


@add("test_total")
def a_pushed_branch_is_rebased_and_pushed_again(project: Project) -> None:
    project.start(FILES)
    bug(project)
    project.git("checkout", "-q", "main")
    note(project)
    project.clone()
    project.git("checkout", "-q", "work")
    project.git("rebase", "-q", "origin/main")
    note(project, "more.txt")


@add("test_total")
def main_was_merged_into_the_branch(project: Project) -> None:
    project.start(FILES)
    bug(project)
    project.git("checkout", "-q", "main")
    note(project)
    project.git("checkout", "-q", "work")
    project.git("merge", "-q", "--no-edit", "main")


@add("test_total", base_runs=False)
def the_test_folder_is_a_link_to_a_folder_outside(project: Project) -> None:
    (project.room / "shared").mkdir()
    (project.room / "shared/test_total.py").write_text(TOTAL)
    os.symlink("../shared", project.folder / "tests")
    project.write("shop/cart.py", CART)
    project.commit()
    project.branch()
    bug(project)


@add("test_total")
def the_module_is_renamed_and_edited(project: Project) -> None:
    test = "from shop import total\n\n\ndef test_total():\n    assert total([1, 2]) == 3\n"
    project.start({"shop/__init__.py": "from .cart import total\n", "shop/cart.py": CART, "tests/test_t.py": test})
    project.git("mv", "shop/cart.py", "shop/sums.py")
    project.write("shop/__init__.py", "from .sums import total\n")
    bug(project, "shop/sums.py")


@add("test_total")
def a_changed_file_is_assumed_to_be_unchanged(project: Project) -> None:
    project.start({**FILES, "shop/other.py": ""})
    project.git("update-index", "--assume-unchanged", "shop/cart.py")
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.write("shop/other.py", "OTHER = 1\n")


@add("test_total")
def only_some_folders_are_checked_out(project: Project) -> None:
    ini = "[pytest]\npythonpath = .\ntestpaths = tests\n"
    project.start({**FILES, "pytest.ini": ini, "other/large.txt": "x\n"})
    project.git("sparse-checkout", "set", "shop", "tests")
    bug(project)
