"""Sorts of files: what concerns every test, what concerns those that read it."""

from __future__ import annotations

import sys

import pytest
from triage_samples import added, deleted, modified, told

from flakehound.triage.changes import EntityKind, FileChange, FileMode, FileStatus, Reach
from flakehound.triage.entities import changed_entities

needs_tomllib = pytest.mark.skipif(sys.version_info < (3, 11), reason="tomllib is new in 3.11")


def only(file):
    (found,) = changed_entities(file)
    return found.kind, found.reach


@pytest.mark.parametrize(
    "path",
    [
        *("pyproject.toml", "setup.cfg", "sub/setup.py", "tox.ini", "pytest.ini", ".coveragerc"),
        *("requirements.txt", "requirements-dev.txt", "requirements/test.txt", "constraints-3.11.txt"),
        *("Pipfile", "Pipfile.lock", "poetry.lock", "uv.lock", "pdm.lock", "environment.yml", "environment.yaml"),
        *("conda-lock.yml", ".env", ".env.test", "MANIFEST.in", ".python-version", "x.pth", "sitecustomize.py"),
        *("usercustomize.py", "shop.egg-info/entry_points.txt"),
    ],
)
def test_configuration_and_lock_files_concern_every_test(path):
    assert only(modified("a\n", "b\n", path=path)) == (EntityKind.CONFIGURATION, Reach.EVERY)
    assert only(added(path)) == (EntityKind.CONFIGURATION, Reach.EVERY)
    assert only(deleted(path)) == (EntityKind.CONFIGURATION, Reach.EVERY)


@pytest.mark.parametrize(
    "path",
    [
        *("a.c", "a.h", "a.cc", "a.cpp", "a.cxx", "a.hpp", "a.pyx", "a.pxd", "a.pxi", "a.so", "a.pyd", "a.dll"),
        *("a.dylib", "a.rs", "a.go", "a.f", "a.f90", "CMakeLists.txt", "meson.build", "Cargo.toml"),
        "libx.so.1",
    ],
)
def test_native_code_concerns_every_test(path):
    assert only(modified("a\n", "b\n", path=f"src/{path}")) == (EntityKind.NATIVE, Reach.EVERY)


@pytest.mark.parametrize(
    "path", ["data/prices.json", "README.md", "docs/index.rst", "a.pyi", "Makefile", "bin/tool", "a.html"]
)
def test_any_other_file_concerns_those_who_read_it(path):
    assert only(modified("a\n", "b\n", path=path)) == (EntityKind.DATA, Reach.CONTENT)


@needs_tomllib
@pytest.mark.parametrize("path", ["pyproject.toml", "poetry.lock", "uv.lock", "Pipfile"])
def test_toml_that_says_the_same_did_not_change(path):
    assert changed_entities(modified("[a]\nb = 1 # one\n", "# new\n[a]\nb=1\n", path=path)) == ()


@needs_tomllib
@pytest.mark.parametrize("value", ["true", "1.0", "'1'"])
def test_toml_values_of_another_type_are_a_change(value):
    assert changed_entities(modified("a = 1\n", f"a = {value}\n", path="pyproject.toml"))


@pytest.mark.parametrize("path", ["pytest.ini", "setup.cfg", "tox.ini", ".coveragerc"])
def test_an_ini_file_that_gains_a_comment_did_not_change(path):
    assert changed_entities(modified("[a]\nb = 1\n", "[a]\n# one\n  ; two\nb = 1  \n", path=path)) == ()


@pytest.mark.parametrize("after", ["[a]\nb = 1 # one\n", "[a]\n b = 1\n", "[a]\nb = 2\n"])
def test_anything_else_in_an_ini_file_is_a_change(after):
    assert changed_entities(modified("[a]\nb = 1\n", after, path="pytest.ini"))


def test_setup_that_gains_a_comment_did_not_change():
    assert changed_entities(modified("setup()\n", "setup()  # why\n", path="setup.py")) == ()


@pytest.mark.parametrize("path", ["setup.py", "pyproject.toml", "pytest.ini"])
def test_configuration_that_cannot_be_read_is_a_change(path):
    broken = FileChange(path=path, status=FileStatus.MODIFIED, before=b"a = (\xff", after=b"a = (\xff\n")

    assert only(broken) == (EntityKind.CONFIGURATION, Reach.EVERY)


def test_a_comment_in_a_list_of_requirements_is_a_change_because_pip_has_its_own_syntax():
    assert changed_entities(modified("a\n", "a # b\n", path="requirements.txt"))


def test_a_submodule_concerns_every_test():
    file = FileChange(
        path="vendor", status=FileStatus.MODIFIED, mode_before=FileMode.SUBMODULE, mode_after=FileMode.SUBMODULE
    )

    assert only(file) == (EntityKind.SUBMODULE, Reach.EVERY)


@pytest.mark.parametrize("path", ["data", "shop/cart.py"])
def test_a_link_may_stand_for_anything_and_concerns_every_test(path):
    file = FileChange(
        path=path,
        status=FileStatus.MODIFIED,
        before=b"x",
        after=b"y",
        mode_before=FileMode.LINK,
        mode_after=FileMode.PLAIN,
    )

    assert only(file) == (EntityKind.LINK, Reach.EVERY)


def test_the_executable_bit_concerns_those_who_read_the_file():
    file = modified("x = 1\n", "x = 1\n", mode_after=FileMode.EXECUTABLE)

    assert only(file) == (EntityKind.MODE, Reach.CONTENT)


def test_a_new_executable_bit_does_not_hide_a_new_content():
    file = modified("x = 1\n", "x = 2\n", mode_after=FileMode.EXECUTABLE)

    assert told(changed_entities(file)) == {
        ("<module>", "changed", "import"),
        ("shop/cart.py", "changed", "content"),
    }


def test_a_binary_file_is_a_file_like_any_other():
    file = FileChange(path="logo.png", status=FileStatus.MODIFIED, before=b"\x89\0", after=b"\x89\1")

    assert only(file) == (EntityKind.DATA, Reach.CONTENT)


def test_a_renamed_data_file_is_gone_under_one_name_and_new_under_the_other():
    file = FileChange(path="b.json", old_path="a.json", status=FileStatus.RENAMED, before=b"1", after=b"1")

    assert told(changed_entities(file)) == {("a.json", "removed", "content"), ("b.json", "added", "content")}


def test_a_module_renamed_to_a_data_file_is_a_module_gone_and_data_come():
    file = FileChange(path="a.txt", old_path="a.py", status=FileStatus.RENAMED, before=b"1", after=b"1")

    assert told(changed_entities(file)) == {("a.py", "removed", "name"), ("a.txt", "added", "content")}
