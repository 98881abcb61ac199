"""Git repositories for the tests of changes and bases."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from engine_samples import write_files

from flakehound.engine.git.changed_files import ChangedFile, changed_files
from flakehound.engine.git.repository import Repository, open_repository
from flakehound.engine.git.revisions import base_revision

OUTER = ("GITHUB_", "GITLAB_", "CI", "SYSTEM_PULLREQUEST", "TF_BUILD", "GIT_")


def forget_machine_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let git see no settings of the machine, and no variables of a build server."""
    for name in list(os.environ):
        if name.startswith(OUTER):
            monkeypatch.delenv(name)
    for name in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{name}_NAME", "Ann")
        monkeypatch.setenv(f"GIT_{name}_EMAIL", "ann@example.org")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", "/dev/null")
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")


class GitProject:
    """A repository to change."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(parents=True, exist_ok=True)
        if not (root / ".git").exists():
            self.git("init", "--quiet", "--initial-branch=main")

    def git(self, *words: str) -> str:
        done = subprocess.run(["git", *words], cwd=self.root, check=True, capture_output=True, text=True)
        return done.stdout.rstrip("\n")

    def write(self, files) -> None:
        write_files(self.root, files)

    def commit(self, files=None, message: str = "work") -> str:
        self.write(files or {})
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", message)
        return self.git("rev-parse", "HEAD")

    @property
    def repository(self) -> Repository:
        opened = open_repository(self.root)
        assert isinstance(opened, Repository), opened
        return opened

    def base(self, since: str | None = None, **env: str):
        return base_revision(self.repository, since=since, env=env)

    def changed(self, base: str = "HEAD", **wishes) -> dict[str, ChangedFile]:
        told = changed_files(self.repository, base, **wishes)
        assert not told.problem
        return {file.path: file for file in told.files}

    def state(self) -> list[str]:
        """Everything that must not change because we asked."""
        commands = (
            "status --porcelain --ignored",
            "worktree list",
            "branch --all --verbose",
            "stash list",
            "reflog",
            "config --list --local",
            "ls-files --stage",
        )
        return [self.git(*command.split()) for command in commands]


def clone_of(project: GitProject, folder: Path, *options: str) -> GitProject:
    """A clone over git's own protocol, so that it can be shallow or partial."""
    subprocess.run(["git", "clone", "--quiet", *options, f"file://{project.root}", str(folder)], check=True)
    return GitProject(folder)


def statuses(changed: dict[str, ChangedFile]) -> dict[str, str]:
    return {path: file.status for path, file in changed.items()}
