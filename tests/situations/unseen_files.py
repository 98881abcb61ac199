"""Class 2: dependencies on files that are looked at without being opened, or that are not there."""

from __future__ import annotations

import os

from .project import Project
from .situation import Situations

UNSEEN_FILES = Situations("2-unseen-files")


def _one_test(project: Project, body: str, **files: str) -> None:
    """A green project with one test of this body; names of files have `__` for a slash and end in their type."""
    lines = "".join(f"    {line}\n" for line in body.strip().splitlines())
    head = "import glob\nimport importlib.util\nimport os\nimport shutil\nimport sys\nfrom pathlib import Path\n"
    project.start({"tests/test_it.py": f"{head}\n\ndef test_it():\n{lines}", **files}, stored=True)


@UNSEEN_FILES.add("test_it", quick=True)
def the_size_of_a_file_is_checked(project: Project) -> None:
    _one_test(project, "assert os.path.getsize('data/logo.svg') < 10", **{"data/logo.svg": "<svg/>\n"})
    project.write("data/logo.svg", "<svg><path/></svg>\n")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_data_file_is_deleted_and_only_its_existence_was_checked(project: Project) -> None:
    _one_test(project, "assert os.path.exists('data/terms.txt')", **{"data/terms.txt": "x\n"})
    project.git("rm", "-q", "data/terms.txt")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_file_that_must_not_exist_is_added(project: Project) -> None:
    _one_test(project, "assert not os.path.isfile('shop/legacy.cfg')", **{"shop/__init__.py": ""})
    project.write("shop/legacy.cfg", "old = yes\n")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_folder_disappears(project: Project) -> None:
    _one_test(project, "assert os.path.isdir('plugins')", **{"plugins/a.txt": "a\n"})
    project.git("rm", "-rq", "plugins")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_listing_has_one_file_more(project: Project) -> None:
    body = "assert [entry.name for entry in os.scandir('data')] == ['a.txt']"
    _one_test(project, body, **{"data/a.txt": "a\n"})
    project.write("data/b.txt", "b\n")


@UNSEEN_FILES.add("test_it")
def a_glob_finds_one_file_less(project: Project) -> None:
    files = {"data/x/a.sql": "a\n", "data/y/b.sql": "b\n"}
    _one_test(project, "assert len(glob.glob('data/**/*.sql', recursive=True)) == 2", **files)
    project.git("mv", "data/y/b.sql", "data/y/b.psql")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_module_is_found_that_was_not_there(project: Project) -> None:
    _one_test(project, "assert importlib.util.find_spec('shop_extras') is None", **{"shop/__init__.py": ""})
    project.write("shop_extras.py", "")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_module_is_not_found_any_more(project: Project) -> None:
    _one_test(project, "assert importlib.util.find_spec('shop.speedups')", **{"shop/speedups.py": ""})
    project.git("mv", "shop/speedups.py", "shop/fast.py")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_namespace_folder_becomes_a_package(project: Project) -> None:
    body = "import spaces\nassert spaces.__file__ is None"
    _one_test(project, body, **{"spaces/one.py": "ONE = 1\n"})
    project.write("spaces/__init__.py", "")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_namespace_folder_gets_another_module_that_is_walked(project: Project) -> None:
    body = "import pkgutil, spaces\nassert [m.name for m in pkgutil.iter_modules(spaces.__path__)] == ['one']"
    _one_test(project, body, **{"spaces/one.py": "ONE = 1\n"})
    project.write("spaces/two.py", "TWO = 2\n")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_file_can_be_written_by_everybody(project: Project) -> None:
    _one_test(project, "assert not os.stat('bin/tool').st_mode & 0o100", **{"bin/tool": "#!/bin/sh\n"})
    (project.folder / "bin/tool").chmod(0o755)
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_program_is_found_on_the_path_of_the_project(project: Project) -> None:
    body = "assert shutil.which('go-shop', path='bin') is None"
    _one_test(project, body, **{"bin/readme": "nothing here\n"})
    project.write("bin/go-shop", "#!/bin/sh\n")
    (project.folder / "bin/go-shop").chmod(0o755)
    project.commit()


@UNSEEN_FILES.add("test_it")
def two_files_are_not_the_same_any_more(project: Project) -> None:
    body = "import filecmp\nassert os.path.samefile('a.txt', 'b.txt')"
    project.write("a.txt", "a\n")
    os.symlink("a.txt", project.folder / "b.txt")
    _one_test(project, body)
    (project.folder / "b.txt").unlink()
    project.write("b.txt", "a\n")
    project.commit()


@UNSEEN_FILES.add("test_it")
def a_file_is_renamed_to_another_case(project: Project) -> None:
    _one_test(project, "assert 'README.md' in os.listdir('.')", **{"README.md": "# Shop\n"})
    project.git("mv", "README.md", "Readme.md")
    project.commit()


@UNSEEN_FILES.add("test_it")
def the_number_of_parts_is_read_with_walk(project: Project) -> None:
    body = "assert sum(len(files) for _, _, files in os.walk('locale')) == 2"
    _one_test(project, body, **{"locale/de/a.po": "x\n", "locale/fr/a.po": "x\n"})
    project.git("rm", "-q", "locale/fr/a.po")
    project.commit()
