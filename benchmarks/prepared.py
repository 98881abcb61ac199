"""The real suites with known flaky tests: find them prepared, or prepare them."""

from __future__ import annotations

import json
import os
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

# On the project's own machines the list lies in shared/, beside the repository.
INDEX_FOLDER = Path(
    os.environ.get("FLAKEHOUND_SUBJECTS_INDEX", Path(__file__).resolve().parents[2] / "shared" / "subjects")
)
SUBJECTS = Path(os.environ.get("FLAKEHOUND_SUBJECTS", Path.home() / ".cache" / "flakehound-subjects"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One real suite and what is known about its tests."""

    key: str
    tree: Path  # never run in it: some suites write into their own tree
    python: str
    pytest_args: tuple[str, ...]
    labels: tuple[Mapping[str, Any], ...]
    n_tests: int
    env: Mapping[str, str] = field(default_factory=dict)
    note: str = ""


def subject_keys() -> list[str]:
    """Every subject, in the order of the list."""
    return [entry["key"] for entry in _entries()]


def prepared_subject(key: str, folder: Path) -> Subject:
    """The subject in `folder`, made first where it is not there yet."""
    if not (folder / "venvs" / key / "ready").exists() or not (folder / key).exists():
        _prepare(key, folder)
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


def _prepare(key: str, folder: Path) -> None:
    """Fetch the sdist and make its environment; the tool for that gets one too, so that ours stays as it is."""
    tool = folder / "tool"
    python = tool / "bin" / "python"
    if not python.exists():
        venv.create(tool, with_pip=True)
    subprocess.run([str(python), "-m", "pip", "install", "-qq", "unearth"], check=True)
    # A path of ours would make pip believe that the subject's own packages are there already.
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    subprocess.run([str(python), str(INDEX_FOLDER / "prepare.py"), key, str(folder)], env=env, check=True)


def _entries() -> list[dict[str, Any]]:
    entries: list[dict[str, Any]] = json.loads((INDEX_FOLDER / "INDEX.json").read_text())["subjects"]
    return entries
