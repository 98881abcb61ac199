"""A git project of a few files in a folder of its own, with a home and a temporary folder of its own, too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import dedent

PYTEST_LIMIT_S = 300.0
_WHO = {
    "GIT_AUTHOR_NAME": "a",
    "GIT_AUTHOR_EMAIL": "a@b",
    "GIT_COMMITTER_NAME": "a",
    "GIT_COMMITTER_EMAIL": "a@b",
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
}
# Importing all plugins of our environment takes most of a small session's time.
_FEW_PLUGINS = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "flakehound_inside.plugin"}
_OF_OUR_RUN = ("PYTEST_", "COV_", "COVERAGE_", "FLAKEHOUND", "PYTHONPATH", "PYTHONHASHSEED", "GIT_")
_INI = "[pytest]\npythonpath = .\ntestpaths = tests\n"
_IGNORED = "__pycache__/\n.pytest_cache/\n.flakehound/\n*.log\n*.db\nbuild/\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one run of pytest with the triage said."""

    code: int
    verdicts: Mapping[str, str]  # by the name of the test, without its file
    evidence: Mapping[str, str]
    output: str


@dataclass
class Project:
    """A project that a situation builds, changes and runs."""

    room: Path  # everything of the situation is below it
    folder: Path
    env: dict[str, str] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    python: str = sys.executable
    left: list[Path] = field(default_factory=list)  # what the tests leave outside of the room

    @classmethod
    def made(cls, room: Path, branch: str = "main") -> Project:
        """An empty repository with a configuration of pytest."""
        project = cls(room=room, folder=room / "project")
        for name in ("project", "outside"):
            (room / name).mkdir(parents=True)
        project.git("init", "-q", "-b", branch)
        project.write_all({"pytest.ini": _INI, ".gitignore": _IGNORED})
        return project

    # ---- files

    def write(self, path: str, text: str) -> None:
        """Write a file; the common indentation of the text is removed."""
        file = self.folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(dedent(text).lstrip("\n"), encoding="utf-8")

    def write_all(self, files: Mapping[str, str]) -> None:
        """Write several files."""
        for path, text in files.items():
            self.write(path, text)

    def replace(self, path: str, old: str, new: str) -> None:
        """Replace a part of a file that must be there."""
        text = (self.folder / path).read_bytes().decode()
        assert old in text, f"{old!r} is not in {path}"
        (self.folder / path).write_bytes(text.replace(old, new).encode())

    # ---- git

    def git(self, *words: str) -> str:
        """Run git in the project and return what it prints."""
        env = {**os.environ, **_WHO}
        told = subprocess.run(
            ["git", *words], cwd=self.folder, env=env, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, f"git {words}: {told.stderr}"
        return told.stdout

    def commit(self, message: str = "a change") -> str:
        """Commit everything and return the commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "--allow-empty", "-m", message)
        return self.git("rev-parse", "HEAD").strip()

    def green(self, message: str = "a green state") -> str:
        """Commit everything, after a check in a copy that all tests pass."""
        copy = self.room / "copy"
        shutil.copytree(self.folder, copy, symlinks=True)
        try:
            told = self._run(["-q", *self.args], cwd=copy, home="copy-home")
        finally:
            shutil.rmtree(copy)
        assert told.returncode == 0, told.stdout + told.stderr
        return self.commit(message)

    def start(self, files: Mapping[str, str], *, stored: bool = False) -> None:
        """A green commit of these files on main, with a run in the store if asked, and a branch for the change."""
        self.write_all(files)
        self.green()
        if stored:
            self.stored()
        self.branch()

    def branch(self, name: str = "work") -> None:
        """Start a branch here."""
        self.git("checkout", "-q", "-b", name)

    def clone(self, *words: str) -> None:
        """Go on in a clone, as a build server does."""
        clone = self.folder.with_name("clone")
        self.git("clone", "-q", *words, f"file://{self.folder}", str(clone))
        if (self.folder / ".flakehound").exists():  # as the cache of a build server restores it
            shutil.copytree(self.folder / ".flakehound", clone / ".flakehound")
        self.folder = clone

    # ---- pytest

    def plain(self, *args: str) -> int:
        """Run pytest without us."""
        return self._run(["-q", *self.args, *args], cwd=self.folder).returncode

    def failed_plain(self, *args: str) -> set[str]:
        """The names of the tests that fail without us."""
        told = self._run(["-q", "-rfE", "--tb=no", *self.args, *args], cwd=self.folder).stdout
        lines = [line for line in told.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        return {line.split(" ", 1)[1].split(" - ")[0].rpartition("::")[2] for line in lines}

    def stored(self, *args: str) -> int:
        """Run pytest with us, so that the store has a run."""
        return self._run(["--flakehound", *self.args, *args], cwd=self.folder).returncode

    def triage(self, *args: str) -> Answer:
        """Run pytest with the triage and tolerance, as a build server would."""
        file = self.room / "triage.json"
        file.unlink(missing_ok=True)
        ours = ["--flakehound", "--flakehound-tolerate", f"--flakehound-json={file}"]
        told = self._run([*ours, *self.args, *args], cwd=self.folder)
        failures = json.loads(file.read_text(encoding="utf-8"))["failures"] if file.exists() else []
        names = [failure["id"].rpartition("::")[2] for failure in failures]
        return Answer(
            code=told.returncode,
            verdicts={name: failure["verdict"] for name, failure in zip(names, failures, strict=True)},
            evidence={name: failure["evidence"] for name, failure in zip(names, failures, strict=True)},
            output=told.stdout + told.stderr,
        )

    def _run(self, words: list[str], *, cwd: Path, home: str = "home") -> subprocess.CompletedProcess[str]:
        env = {name: value for name, value in os.environ.items() if not name.startswith(_OF_OUR_RUN)}
        for name in (home, f"{home}-tmp"):
            (self.room / name).mkdir(exist_ok=True)
        env |= {**_WHO, **_FEW_PLUGINS, "HOME": str(self.room / home), "TMPDIR": str(self.room / f"{home}-tmp")}
        env |= {"OUTSIDE": str(self.room / "outside"), "PYTHONDONTWRITEBYTECODE": "1", **self.env}
        return subprocess.run(
            [self.python, "-m", "pytest", "-p", "no:cacheprovider", *words],
            cwd=cwd,
            env=env,
            capture_output=True,
            text=True,
            timeout=PYTEST_LIMIT_S,
            check=False,
        )
