"""Real suites from PyPI, prepared once per machine by the script that made their labels."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

SHARED = Path(__file__).resolve().parents[2].parent / "shared" / "subjects"
PREPARED = Path(os.environ.get("FLAKEHOUND_SUBJECTS", Path.home() / ".cache" / "flakehound-subjects"))
# Small, quick to install, and between them: unittest, parametrised and async tests, doctest-like data, xunit
# classes with failing teardown, Python 3.9 and 3.11, pytest 7.4 and 8.4.
QUICK = ("six-1.16.0", "blinker-1.9.0", "licenraptor-0.2.2", "yunomi-0.3.0", "pyeventdispatcher-0.2.2a0")
# Flaky by its random seed under plain pytest, too, though no label names it.
UNLABELLED = {
    "yunomi/tests/test_exp_decay_sample_test.py::ExponentiallyDecayingSampleTests"
    "::test_long_period_of_inactivity_should_not_corrupt_sampling_state"
}


@dataclass(frozen=True, kw_only=True)
class Subject:
    """One unpacked sdist with its virtual environment and its labels."""

    key: str
    tree: Path
    python: Path
    pytest_args: tuple[str, ...]
    flaky: frozenset[str]


def chosen_keys() -> list[str]:
    """The quick subjects, or all when FLAKEHOUND_ALL_SUBJECTS is set."""
    if not (SHARED / "INDEX.json").exists():
        return []
    keys = [row["key"] for row in _rows()]
    return keys if os.environ.get("FLAKEHOUND_ALL_SUBJECTS") else [key for key in keys if key in QUICK]


def _rows() -> list[dict]:
    return json.loads((SHARED / "INDEX.json").read_text())["subjects"]


def prepared(key: str) -> Subject:
    """The subject, installed if it is not yet; skips where the registry or the interpreter is missing."""
    row = next(row for row in _rows() if row["key"] == key)
    python = PREPARED / "venvs" / key / "bin" / "python"
    if not (PREPARED / "venvs" / key / "ready").exists():
        _prepare(key)
    return Subject(
        key=key,
        tree=PREPARED / key,
        python=python,
        pytest_args=tuple(row["pytest_args"]),
        flaky=frozenset(label["test"] for label in row["labels"] if label["kind"] != "consistently_failing")
        | UNLABELLED,
    )


def _prepare(key: str) -> None:
    tool = PREPARED / "tool"
    if not (tool / "bin" / "python").exists():
        subprocess.run([sys.executable, "-m", "venv", tool], check=True)
        pip = [tool / "bin" / "python", "-m", "pip", "install", "-q", "--disable-pip-version-check", "unearth"]
        _or_skip(pip)
    _or_skip([tool / "bin" / "python", SHARED / "prepare.py", key, PREPARED])


def _or_skip(command: list) -> None:
    env = {name: value for name, value in os.environ.items() if name != "XDG_CACHE_HOME"}  # pip's cache is kept
    done = subprocess.run([str(part) for part in command], env=env, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"cannot prepare: {done.stderr.strip().splitlines()[-1:]}")
