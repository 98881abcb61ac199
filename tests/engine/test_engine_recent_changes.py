from __future__ import annotations

import subprocess
from pathlib import Path

from flakehound.engine.git.recent_changes import RECENT_COMMITS, recently_changed_files
from flakehound.engine.git.repository import Repository, open_repository


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def commit(folder: Path, name: str) -> None:
    (folder / name).write_text("x")
    git(folder, "add", "-A")
    git(folder, "commit", "-qm", name)


def test_files_of_the_last_commits_and_uncommitted_ones_were_changed_lately(tmp_path):
    git(tmp_path, "init", "-q")
    for number in range(RECENT_COMMITS + 2):
        commit(tmp_path, f"file{number}")
    (tmp_path / "file0").write_text("changed")
    (tmp_path / "new file").write_text("")
    repository = open_repository(tmp_path)
    assert isinstance(repository, Repository)

    changed = {path.name for path in recently_changed_files(repository)}

    assert {"file0", "new file", f"file{RECENT_COMMITS + 1}"} <= changed
    assert "file1" not in changed
