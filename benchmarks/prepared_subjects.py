"""Real suites with known flaky tests; each is downloaded and installed when it is first needed."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# On the project's own machines the list is in shared/, next to the repository.
INDEX_FOLDER = Path(
    os.environ.get("FLAKEHOUND_SUBJECTS_INDEX", Path(__file__).resolve().parents[2] / "shared" / "subjects")
)
SUBJECTS_FOLDER = Path(os.environ.get("FLAKEHOUND_SUBJECTS", Path.home() / ".cache" / "flakehound-subjects"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One real suite and the labels of its tests."""

    key: str
    tree: Path  # run a copy: some suites write into their own tree
    python: str
    pytest_args: tuple[str, ...]
    labels: tuple[Mapping[str, Any], ...]
    n_tests: int
    env: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def subject_keys() -> list[str]:
    """The keys of all subjects, in the order of the list."""
    return [entry["key"] for entry in _entries()]


def prepare_subject(key: str, folder: Path) -> Subject:
    """Return the subject in `folder`, after downloading and installing it if necessary."""
    if not (folder / "venvs" / key / "ready").exists() or not (folder / key).exists():
        _download_and_install(key, folder)
    entry = next(entry for entry in _entries() if entry["key"] == key)
    return Subject(
        key=key,
        tree=folder / key,
        python=str(folder / "venvs" / key / "bin" / "python"),
        pytest_args=tuple(entry["pytest_args"]),
        labels=tuple(entry["labels"]),
        n_tests=entry["n_tests"],
        env=entry["env"],
        note=entry["note"],
    )


def _download_and_install(key: str, folder: Path) -> None:
    """Fetch the sdist and make its environment, with a tool that has an environment of its own."""
    tool = folder / "tool"
    python = tool / "bin" / "python"
    if not python.exists():
        venv.create(tool, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "-qq", "unearth"], check=True)
    # With our path pip would take our packages for installed ones of the subject.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(python), str(INDEX_FOLDER / "prepare.py"), key, str(folder)], env=env, check=True)


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((INDEX_FOLDER / "INDEX.json").read_text())["subjects"]
    return entries
