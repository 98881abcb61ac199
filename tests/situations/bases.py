"""Class 5: no base, or one that is easily mistaken."""

from __future__ import annotations

import shutil
from zipfile import ZipFile

from .project import Project
from .situation import Situations

BASES = Situations("5-bases")

FILES = {
    "shop/cart.py": "def total(prices):\n    return sum(prices)\n\n\ndef count(prices):\n    return len(prices)\n",
    "tests/test_cart.py": """
        from shop.cart import count, total


        def test_total():
            assert total([1, 2]) == 3


        def test_count():
            assert count([1, 2]) == 2
    """,
}


def bug(project: Project) -> None:
    """Break `total`, and nothing else."""
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.commit("a bug")


def note(project: Project, name: str = "notes.txt") -> None:
    """A commit that breaks nothing."""
    project.write(name, "a note\n")
    project.commit("a note")


@BASES.add("test_total")
def the_repository_belongs_to_another_user(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    for path in (*project.folder.rglob("*"), project.folder):
        shutil.chown(path, 4321, 4321)


@BASES.add("test_total", base_runs=False, quick=True)
def there_is_no_repository(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    shutil.rmtree(project.folder / ".git")


@BASES.add("test_total", base_runs=False)
def a_clone_has_the_branch_only_and_the_bug_is_in_its_first_commit(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    project.clone("--single-branch", "-b", "work")


@BASES.add("test_total", base_runs=False)
def a_clone_has_two_commits_and_the_bug_is_in_an_earlier_one(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    note(project, "more.txt")
    project.clone("--depth", "2", "-b", "work")


@BASES.add("test_total", base_runs=False)
def a_clone_has_one_commit(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    project.clone("--depth", "1", "-b", "work")


@BASES.add("test_total", base_runs=False)
def the_default_branch_is_called_trunk(project: Project) -> None:
    project.git("checkout", "-q", "-b", "trunk")
    project.start(FILES, stored=True)
    bug(project)
    note(project)


@BASES.add("test_total")
def the_default_branch_of_the_remote_is_called_trunk(project: Project) -> None:
    project.git("checkout", "-q", "-b", "trunk")
    project.write_all(FILES)
    project.green()
    project.stored()
    project.clone()
    project.branch()
    bug(project)
    note(project)


@BASES.add("test_total", base_runs=False)
def a_stray_file_is_on_main_and_the_bug_in_the_last_commit(project: Project) -> None:
    project.write_all(FILES)
    project.green()
    project.stored()
    bug(project)
    project.write("scratch.txt", "remember the milk\n")


@BASES.add("test_total", base_runs=False)
def an_edit_is_not_committed_and_the_bug_is_in_the_last_commit(project: Project) -> None:
    project.write_all(FILES)
    project.green()
    project.stored()
    bug(project)
    project.replace("shop/cart.py", "len(prices)", "len([*prices])")


@BASES.add("test_total", base_runs=False)
def main_has_three_commits_that_are_not_pushed(project: Project) -> None:
    project.write_all(FILES)
    project.green()
    project.stored()
    project.clone()
    bug(project)
    note(project)
    note(project, "more.txt")


@BASES.add("test_total")
def the_head_is_detached_on_a_branch_of_two_commits(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    project.git("checkout", "-q", "--detach")


@BASES.add("test_total")
def the_build_server_merges_the_branch_into_main(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    project.git("checkout", "-q", "main")
    note(project)
    project.git("checkout", "-q", "--detach")
    project.git("merge", "-q", "--no-edit", "--no-ff", "work")


@BASES.add("test_total", base_runs=False)
def the_branch_was_merged_into_the_local_main_already(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    project.git("branch", "-f", "main", "work")
    note(project)
    project.git("branch", "-f", "main", "work")


@BASES.add("test_total", base_runs=False)
def the_branch_has_no_common_ancestor_with_main(project: Project) -> None:
    project.start(FILES, stored=True)
    project.git("checkout", "-q", "--orphan", "fresh")
    bug(project)


@BASES.add("test_total")
def the_tests_run_in_a_linked_worktree(project: Project) -> None:
    project.start(FILES, stored=True)
    bug(project)
    note(project)
    project.git("checkout", "-q", "main")
    project.git("worktree", "add", "-q", str(project.room / "linked"), "work")
    project.folder = project.room / "linked"


@BASES.add("test_total", base_runs=False)
def the_project_is_in_a_folder_that_an_outer_repository_ignores(project: Project) -> None:
    project.write("inner/keep", "")
    project.write(".gitignore", "inner/\n")
    project.commit("outer")
    shutil.copy(project.folder / "pytest.ini", project.folder / "inner/pytest.ini")
    project.folder /= "inner"
    project.write_all(FILES)
    project.stored()
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")


@BASES.add("test_total")
def the_base_is_an_sdist_and_there_is_no_repository(project: Project) -> None:
    project.start(FILES)
    shutil.rmtree(project.folder / ".git")
    shutil.make_archive(str(project.room / "shop-1.0"), "gztar", project.room, project.folder.name)
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")
    project.args = ("--flakehound-since=../shop-1.0.tar.gz",)


@BASES.add("test_total")
def the_base_is_a_wheel_and_there_is_no_repository(project: Project) -> None:
    project.start(FILES)
    shutil.rmtree(project.folder / ".git")
    _make_wheel(project)
    project.replace("shop/cart.py", "sum(prices)", "sum(prices) + 1")


@BASES.add("test_total", base_runs=False)
def the_base_is_a_wheel_and_the_test_itself_is_broken(project: Project) -> None:
    project.start(FILES)
    shutil.rmtree(project.folder / ".git")
    _make_wheel(project)
    project.replace("tests/test_cart.py", "== 3", "== 4")


def _make_wheel(project: Project) -> None:
    with ZipFile(project.room / "shop-1.0-py3-none-any.whl", "w") as wheel:
        wheel.write(project.folder / "shop/cart.py", "shop/cart.py")
        wheel.writestr("shop-1.0.dist-info/METADATA", "Name: shop\n")
    project.args = ("--flakehound-since=../shop-1.0-py3-none-any.whl",)
