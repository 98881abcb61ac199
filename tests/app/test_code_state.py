"""When two hunts ran the same code, and when they did not."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import replace

import pytest

from flakehound.app.sessions.code_state import code_state, sources_state
from flakehound.core.code_state import CodeState, code_state_from
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import CollectedTest, Suite
from flakehound.engine import file_digests
from flakehound.engine.processes.handshake import Handshake
from flakehound.engine.processes.launch import Target

GIT = ("git", "-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false")


def git(folder, *words):
    subprocess.run([*GIT, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=["git", "no git"])
def project(request, tmp_path):
    """A small project, in both ways of keeping it."""
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "shop.py").write_text("price = 1\n")
    (folder / "test_shop.py").write_text("def test_one(): pass\n")
    if request.param == "git":
        (folder / ".gitignore").write_text("*.pyc\n*.so\n.env\n")
        git(folder, "init", "-q")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", "one")
    return folder


def state(folder):
    return sources_state(folder, folder / ".flakehound" / "flakehound.db")


def test_the_same_files_have_the_same_state(project):
    assert state(project) == state(project) != ""


@pytest.mark.parametrize(
    "change",
    [
        lambda folder: (folder / "src" / "shop.py").write_text("price = 2\n"),
        lambda folder: (folder / "conftest.py").write_text("x = 1\n"),
        lambda folder: (folder / "data.csv").write_text("1,2\n"),
        lambda folder: (folder / "src" / "shop.py").rename(folder / "src" / "store.py"),
        lambda folder: (folder / "src" / "shop.py").unlink(),
        lambda folder: (folder / "src" / "fast.so").write_bytes(b"built in place, which git ignores"),
    ],
    ids=["changed", "new", "new data", "renamed", "removed", "ignored extension module"],
)
def test_other_files_are_another_state(change, project):
    before = state(project)
    change(project)

    assert state(project) not in (before, "")


def test_an_undone_change_is_the_first_state_again(project):
    before = state(project)
    (project / "src" / "shop.py").write_text("price = 2\n")
    (project / "src" / "shop.py").write_text("price = 1\n")

    assert state(project) == before


def test_caches_reports_and_the_store_are_no_code(project):
    before = state(project)
    for name in (
        "__pycache__/test_shop.pyc",
        ".pytest_cache/v/lastfailed",
        ".mypy_cache/x.json",
        ".flakehound/flakehound.db",
        ".coverage",
        "pytest.log",
        "env/pyvenv.cfg",
        "env/lib/a.py",
    ):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("x")
    (project / "report.json").write_text(json.dumps({"schema": "flakehound/report/1", "tests": []}))

    assert state(project) == before


def test_a_store_of_any_name_is_no_code(project):
    store = project / "nights.db"
    before = sources_state(project, store)
    store.write_text("x")
    (project / "nights.db-wal").write_text("x")

    assert sources_state(project, store) == before


def test_a_new_commit_of_the_same_files_is_the_same_state_and_another_commit_is_not(tmp_path):
    git(tmp_path, "init", "-q")
    (tmp_path / "a.py").write_text("a = 1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-qm", "one")
    first = state(tmp_path)
    git(tmp_path, "commit", "-q", "--amend", "-m", "a better message")
    amended = state(tmp_path)
    (tmp_path / "a.py").write_text("a = 2\n")
    git(tmp_path, "commit", "-qam", "two")

    assert amended == first
    assert state(tmp_path) != first


def test_a_folder_with_too_many_files_has_no_state(tmp_path, monkeypatch):
    monkeypatch.setattr(file_digests, "MAX_FILES", 2)
    for number in range(3):
        (tmp_path / f"{number}.py").write_text("")

    assert state(tmp_path) == ""


def test_of_a_large_file_size_and_time_count(tmp_path, monkeypatch):
    monkeypatch.setattr(file_digests, "MAX_FILE_BYTES", 2)
    (tmp_path / "large.bin").write_text("abc")
    before = state(tmp_path)
    os.utime(tmp_path / "large.bin", (1, 1))

    assert state(tmp_path) != before


# The whole state


@pytest.fixture
def suite(tmp_path):
    """A project without git, its interpreter's packages beside it, and what its collection reports."""
    project, site = tmp_path / "project", tmp_path / "lib" / "site-packages"
    project.mkdir()
    (site / "shop-1.0.dist-info").mkdir(parents=True)
    (site / "shop-1.0.dist-info" / "RECORD").write_text("shop.py,sha256=1,9\n")
    test = CollectedTest(id=NodeId("test_a.py::test_a"), module="test_a.py", parent="test_a.py")
    handshake = Handshake(
        suite=Suite(tests=(test,)),
        python="3.12.1",
        pytest="8.0",
        rootdir=str(project),
        collection_s=0.1,
        import_path=(str(project), str(site)),
    )
    return Target(python="python", cwd=project), handshake, site


def whole_state(target, handshake, **options):
    return code_state(target, handshake, sources="known", **options)


def test_versions_arguments_limits_and_tests_are_part_of_the_state(suite):
    target, handshake, _site = suite
    other_test = CollectedTest(id=NodeId("test_b.py::test_b"), module="test_b.py", parent="test_b.py")
    before = whole_state(target, handshake)
    others = [
        whole_state(target, replace(handshake, python="3.13.0")),
        whole_state(target, replace(handshake, pytest="9.0")),
        whole_state(replace(target, pytest_args=("-k", "a")), handshake),
        whole_state(replace(target, memory_bytes=1), handshake),
        whole_state(target, handshake, test_limit_s=1.0),
        whole_state(target, replace(handshake, suite=Suite(tests=(other_test,)))),
    ]

    assert before.is_same_code(whole_state(target, handshake))
    assert not any(before.is_same_code(other) for other in others)


def test_a_reinstalled_package_of_the_same_version_is_other_code(suite):
    target, handshake, site = suite
    before = whole_state(target, handshake)
    (site / "shop-1.0.dist-info" / "RECORD").write_text("shop.py,sha256=2,9\n")

    assert not before.is_same_code(whole_state(target, handshake))


def test_code_that_is_imported_from_elsewhere_counts(suite, tmp_path):
    target, handshake, _site = suite
    library = tmp_path / "library"
    library.mkdir()
    handshake = replace(handshake, import_path=(*handshake.import_path, str(library)))
    before = whole_state(target, handshake)
    (library / "tool.py").write_text("x = 1\n")

    assert not before.is_same_code(whole_state(target, handshake))


def test_code_of_an_editable_package_counts(suite, tmp_path):
    target, handshake, site = suite
    library = tmp_path / "a library"
    library.mkdir()
    direct_url = {"url": library.as_uri(), "dir_info": {"editable": True}}
    (site / "shop-1.0.dist-info" / "direct_url.json").write_text(json.dumps(direct_url))
    before = whole_state(target, handshake)
    (library / "tool.py").write_text("x = 1\n")

    assert not before.is_same_code(whole_state(target, handshake))


def test_an_installed_package_whose_tests_are_collected_counts_by_its_files(suite):
    target, handshake, site = suite
    (site / "shop" / "tests").mkdir(parents=True)
    (site / "shop" / "cart.py").write_text("x = 1\n")
    handshake = replace(handshake, folders=(str(site / "shop" / "tests"),))
    before = whole_state(target, handshake)
    (site / "shop" / "cart.py").write_text("x = 2\n")

    assert not before.is_same_code(whole_state(target, handshake))


def test_what_is_not_known_is_never_the_same():
    known = CodeState(sources="a", packages="b", interpreter="c", tests="d")

    assert known.is_same_code(known)
    assert not CodeState().is_same_code(CodeState())
    assert not replace(known, packages="").is_same_code(replace(known, packages=""))


def test_a_state_with_parts_of_another_version_can_be_read():
    assert code_state_from({"sources": "a", "weather": "b"}) == CodeState(sources="a")
