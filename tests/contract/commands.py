"""The commands whose answers are recorded, and how a project and its store are laid out for them."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sqlite3
from pathlib import Path

HERE = Path(__file__).parent
RECORDED = HERE / "recorded"
FOLDER = "/recorded/project"  # where the recorded hunt seems to have been
PYTHON = "/recorded/python"
STORE = "store.db"
_TEST = "tests/test_orders.py::"
_TESTS = (
    "test_nod_random",
    "test_victim_of_rate",
    "test_brittle_needs_cache",
    "test_not_idempotent",
    "test_always_fails",
    "test_steady",
    "test_polluter_sets_rate",
)

# Name of the recording -> words behind `flakehound`. All of them read; none runs a test.
COMMANDS: dict[str, list[str]] = {
    **{f"explain-{test}": ["explain", _TEST + test, "--store", STORE] for test in _TESTS},
    "explain-part-of-a-name": ["explain", "victim", "--store", STORE],
    "explain-unclear": ["explain", "test_n", "--store", STORE],
    "explain-unknown": ["explain", "test_nothing", "--store", STORE],
    "explain-no-store": ["explain", "x", "--store", "absent.db"],
    "explain-broken-store": ["explain", "x", "--store", "pytest.ini"],
    "history": ["history", "--store", STORE],
    "merge-nothing-new": ["merge", STORE, "--store", STORE],
    "data-export": ["data", "export", "out.csv", "--store", STORE],
    "replay-gone": ["replay", "test_victim_of_rate", "--store", STORE],
    "lint-text": ["lint", "--score", "rules", "--no-cache"],
    "lint-json": ["lint", "--score", "rules", "--no-cache", "--format", "json"],
    "lint-sarif": ["lint", "--score", "rules", "--no-cache", "--format", "sarif"],
    "lint-github": ["lint", "--score", "rules", "--no-cache", "--format", "github"],
    "lint-metrics": ["lint", "--score", "rules", "--no-cache", "--metrics", "out.csv"],
    "lint-baseline": ["lint", "--score", "rules", "--no-cache", "--write-baseline", "out.json"],
    "lint-explain": ["lint", "--explain", "FH101"],
    "lint-unknown-rule": ["lint", "--select", "FH999"],
    "lint-no-path": ["lint", "nowhere"],
    "hunt-bad-budget": ["hunt", "--budget", "soon"],
    "hunt-bad-python": ["hunt", "--python", "nowhere/python"],
    "hunt-bad-policy": ["hunt", "--policy", "luck"],
    "hunt-cost-without-cannier": ["hunt", "--cost", "0.5"],
    "hunt-nothing-to-resume": ["hunt", "--resume", "--store", STORE],
    "unknown-command": ["hnut"],
    "no-subcommand": ["study", "modles"],
    "pareto-without-table": ["study", "pareto"],
    "version": ["--version"],
}
OUTPUTS = ("out.csv", "out.json")


def lay_out(folder: Path, store: bytes | None = None) -> None:
    """Copy the project, and the recorded store, into an empty folder."""
    shutil.copytree(HERE / "project", folder, dirs_exist_ok=True)
    content = gzip.decompress((RECORDED / "store.db.gz").read_bytes()) if store is None else store
    (folder / STORE).write_bytes(content)


def move_store(path: Path) -> None:
    """Make a recorded store independent of the folder and the interpreter of its recording."""
    with sqlite3.connect(path) as connection:
        for row, options in connection.execute("SELECT id, options FROM session").fetchall():
            told = json.loads(options)
            changed = {**told, **{k: v for k, v in (("python", PYTHON), ("rootdir", FOLDER)) if k in told}}
            connection.execute(
                "UPDATE session SET rootdir = ?, options = ? WHERE id = ?", (FOLDER, json.dumps(changed), row)
            )
    connection.close()


def normalised(text: str, folder: Path, python: str) -> str:
    """A text without the names of this folder and this interpreter."""
    text = text.replace(str(folder), "<folder>").replace(python, "<python>")
    return re.sub(r"python -m [a-z.]*flakehound", "flakehound", text)
