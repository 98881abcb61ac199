"""A folder of temporary files is restored to its earlier content."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from flakehound_inside.worker import folders
from flakehound_inside.worker.folders import FolderSnapshot, FolderTooLarge


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sub" / "deep").mkdir(parents=True)
    (tmp_path / "sub" / "file").write_bytes(b"\x00content")
    (tmp_path / "sub" / "link").symlink_to("file")
    (tmp_path / "program").write_text("#!/bin/sh\n")
    (tmp_path / "program").chmod(0o755)
    return tmp_path


def listing(folder: Path) -> dict[str, tuple[int, object]]:
    return {
        str(path.relative_to(folder)): (path.lstat().st_mode, path.read_bytes() if path.is_file() else None)
        for path in folder.rglob("*")
    }


def test_added_changed_and_removed_files_are_restored(folder):
    before = listing(folder)
    snapshot = FolderSnapshot(str(folder))
    (folder / "new" / "newer").mkdir(parents=True)
    (folder / "new" / "file").write_text("new")
    (folder / "sub" / "file").write_text("changed")
    (folder / "sub" / "link").unlink()
    (folder / "program").unlink()

    snapshot.restore()

    assert listing(folder) == before
    assert os.readlink(folder / "sub" / "link") == "file"


def test_a_second_change_is_undone_too(folder):
    before = listing(folder)
    snapshot = FolderSnapshot(str(folder))

    for number in range(2):
        (folder / f"new{number}").write_text("new")
        snapshot.restore()

    assert listing(folder) == before


def test_an_unchanged_folder_is_not_touched(folder):
    snapshot = FolderSnapshot(str(folder))
    inode = (folder / "sub" / "file").stat().st_ino

    snapshot.restore()

    assert (folder / "sub" / "file").stat().st_ino == inode


def test_a_huge_folder_raises_an_error(folder, monkeypatch):
    monkeypatch.setattr(folders, "MAX_BYTES", 3)

    with pytest.raises(FolderTooLarge):
        FolderSnapshot(str(folder))
