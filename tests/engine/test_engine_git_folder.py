"""A base that is a folder: compared by content, with or without git."""

from __future__ import annotations

import os
import shutil

import pytest
from engine_samples import write_files
from git_projects import statuses

from flakehound.engine.git import folder_bases
from flakehound.engine.git.folder_bases import UnusableFolder, files_changed_since, folder_base


class TwoTrees:
    """A project, and a copy of it from before the change."""

    def __init__(self, tmp_path) -> None:
        self.now, self.before = tmp_path / "now", tmp_path / "before"
        write_files(self.now, {"src/a.py": "1\n", "tests/test_a.py": "", "data.txt": "x"})
        shutil.copytree(self.now, self.before)

    def changed(self, since="../before", rootdir=None, **wishes):
        base = folder_base(since, cwd=self.now, rootdir=rootdir or self.now)
        assert base is not None
        told = files_changed_since(base, top=base.folder_of or self.now, **wishes)
        assert not told.problem
        return {file.path: file for file in told.files}


@pytest.fixture
def trees(tmp_path) -> TwoTrees:
    return TwoTrees(tmp_path)


def test_a_folder_is_a_base_that_is_no_commit(trees):
    base = folder_base("../before", cwd=trees.now, rootdir=trees.now)

    assert base is not None
    assert (base.folder, base.folder_of, base.is_commit, base.doubt) == (trees.before, trees.now, False, "")
    assert base.why == "compared with the folder ../before, as asked"


def test_a_name_without_a_folder_is_no_base(trees):
    assert folder_base("main", cwd=trees.now, rootdir=trees.now) is None
    assert folder_base("data.txt", cwd=trees.now, rootdir=trees.now) is None
    assert folder_base("", cwd=trees.now, rootdir=trees.now) is None


@pytest.mark.parametrize("since", [".", "..", "../now"])
def test_a_folder_that_contains_the_tests_is_an_error(trees, since):
    with pytest.raises(UnusableFolder) as error:
        folder_base(since, cwd=trees.now, rootdir=trees.now)

    assert "contains the tests that were run" in error.value.what


def test_equal_trees_have_no_change_whatever_their_times(trees):
    os.utime(trees.now / "src" / "a.py", (1, 1))

    assert trees.changed() == {}


def test_added_modified_and_deleted_files_have_both_versions(trees):
    write_files(trees.now, {"src/a.py": "2\n", "src/new.py": "n\n"})
    (trees.now / "data.txt").unlink()

    changed = trees.changed()

    assert statuses(changed) == {"src/a.py": "modified", "src/new.py": "added", "data.txt": "deleted"}
    assert (changed["src/a.py"].before, changed["src/a.py"].after) == (b"1\n", b"2\n")
    assert (changed["src/new.py"].before, changed["src/new.py"].mode_before) == (None, "000000")
    assert (changed["data.txt"].after, changed["data.txt"].mode_after) == (None, "000000")


def test_modes_links_and_line_ends_are_changes(trees):
    (trees.now / "data.txt").chmod(0o755)
    (trees.now / "src" / "a.py").write_bytes(b"1\r\n")
    (trees.before / "link").symlink_to("data.txt")
    (trees.now / "link").symlink_to("src")

    changed = trees.changed()

    assert set(changed) == {"data.txt", "src/a.py", "link"}
    assert (changed["link"].before, changed["link"].after) == (b"data.txt", b"src")


def test_caches_environments_and_our_own_files_are_no_change(trees):
    write_files(
        trees.now,
        {
            ".git/config": "",
            "src/__pycache__/a.pyc": "",
            ".pytest_cache/v": "",
            ".flakehound/store.db": "",
            "env/pyvenv.cfg": "",
            "env/lib/x.py": "",
            "out.json": "{}",
        },
    )

    assert trees.changed(excluded=[trees.now / "out.json"]) == {}


def test_a_base_inside_the_project_is_not_compared_with_itself(trees):
    shutil.move(trees.before, trees.now / "base")

    assert trees.changed("base") == {}


def test_a_project_whose_tests_have_a_root_of_their_own_is_compared_as_a_whole(trees):
    write_files(trees.now, {"src/a.py": "2\n"})

    assert set(trees.changed(rootdir=trees.now / "tests")) == {"src/a.py"}


def test_paths_are_relative_to_the_top_of_a_repository_around_the_project(trees):
    write_files(trees.now, {"src/a.py": "2\n"})
    base = folder_base(str(trees.before), cwd=trees.now, rootdir=trees.now, top=trees.now.parent)

    assert base is not None
    told = files_changed_since(base, top=trees.now.parent)
    assert base.folder_of == trees.now
    assert [file.path for file in told.files] == ["now/src/a.py"]


def test_a_file_that_cannot_be_read_or_is_too_large_counts_as_changed(trees, monkeypatch):
    monkeypatch.setattr("flakehound.engine.git.changed_files.MAX_FILE_BYTES", 10)
    (trees.now / "data.txt").write_text("x" * 11)

    file = trees.changed()["data.txt"]

    assert (file.status, file.after, file.unread) == ("modified", None, "it is too large")


def test_trees_with_too_many_files_are_a_problem(trees, monkeypatch):
    monkeypatch.setattr(folder_bases, "MAX_FILES", 2)
    base = folder_base("../before", cwd=trees.now, rootdir=trees.now)

    assert base is not None
    assert "more than 2 files" in files_changed_since(base, top=trees.now).problem
