"""A base that is an sdist or a wheel: unpacked, and never with more trust than it deserves."""

from __future__ import annotations

import shutil
import tarfile
import zipfile
from pathlib import Path

import pytest
from engine_samples import write_files

from flakehound.engine.git.archive_bases import archive_base
from flakehound.engine.git.folder_bases import UnusableFolder, files_changed_since

PROJECT = {
    "pyproject.toml": "[project]\nname = 'shop'\n",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": "TAX = 7\n",
    "tests/test_cart.py": "def test_it(): pass\n",
}


@pytest.fixture
def project(tmp_path) -> Path:
    """The user's tree, with a changed module."""
    folder = tmp_path / "shop"
    write_files(folder, {**PROJECT, "src/shop/cart.py": "TAX = 8\n"})
    return folder


def sdist(folder: Path, name: str = "shop-1.0.tar.gz") -> Path:
    source = folder / "source" / "shop-1.0"
    write_files(source, PROJECT)
    with tarfile.open(folder / name, "w:gz") as archive:
        archive.add(source, "shop-1.0")
    return folder / name


def wheel(folder: Path, files: dict[str, str] | None = None) -> Path:
    path = folder / "shop-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in (files or {"shop/__init__.py": "", "shop/cart.py": "TAX = 7\n"}).items():
            archive.writestr(name, text)
        archive.writestr("shop-1.0.dist-info/METADATA", "Name: shop\n")
    return path


def changed_files(base, project: Path) -> list[str]:
    return [file.path for file in files_changed_since(base, top=project).files]


def test_an_sdist_is_a_folder_with_the_project(project, tmp_path):
    sdist(tmp_path)

    base = archive_base("../shop-1.0.tar.gz", cwd=project, rootdir=project)

    assert base is not None
    assert base.why == "compared with the project in ../shop-1.0.tar.gz, as asked"
    assert (base.name, base.doubt, base.is_commit, base.folder_of) == ("../shop-1.0.tar.gz", "", False, project)
    assert changed_files(base, project) == ["src/shop/cart.py"]


def test_the_packages_of_a_wheel_replace_those_of_the_tree(project, tmp_path):
    wheel(tmp_path)
    shutil.copytree(project, project / ".venv")
    (project / ".venv" / "pyvenv.cfg").write_text("")

    base = archive_base("../shop-1.0-py3-none-any.whl", cwd=project, rootdir=project)

    assert base is not None
    assert base.folder is not None
    assert (base.folder / "src/shop/cart.py").read_text() == "TAX = 7\n"
    assert (base.folder / "tests/test_cart.py").exists()
    assert not (base.folder / ".venv").exists()
    assert changed_files(base, project) == ["src/shop/cart.py"]


def test_nothing_is_cleared_by_a_wheel_because_the_tests_are_those_of_the_change(project, tmp_path):
    base = archive_base(str(wheel(tmp_path)), cwd=project, rootdir=project)

    assert base is not None
    assert "neither tests nor settings" in base.doubt


def test_the_project_may_be_above_pytests_root_folder(project, tmp_path):
    base = archive_base(str(wheel(tmp_path)), cwd=project, rootdir=project / "tests")

    assert base is not None
    assert base.folder_of == project


def test_a_wheel_of_another_project_is_an_error(project, tmp_path):
    other = wheel(tmp_path, {"garden/__init__.py": ""})

    with pytest.raises(UnusableFolder) as error:
        archive_base(str(other), cwd=project, rootdir=project)

    assert "it has garden, which" in error.value.what


@pytest.mark.parametrize("name", ["shop-1.0.tar.gz", "shop-1.0-py3-none-any.whl", "shop.zip"])
def test_a_file_that_is_no_archive_is_an_error(project, name):
    (project / name).write_text("no archive")

    with pytest.raises(UnusableFolder) as error:
        archive_base(name, cwd=project, rootdir=project)

    assert "cannot be unpacked" in error.value.what


@pytest.mark.parametrize("name", ["main", "", "data.txt", "missing.whl"])
def test_other_names_are_no_archive(project, name):
    (project / "data.txt").write_text("")

    assert archive_base(name, cwd=project, rootdir=project) is None
