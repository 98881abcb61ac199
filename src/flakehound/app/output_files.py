"""The file that `--json`, or another option, names."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from flakehound.core.errors import SameCommand, UsageError

OTHER_NAMES = {  # parameter -> what we suggest
    "json_file": "flakehound.json",
    "csv_file": "flakehound.csv",
    "metrics": "metrics.csv",
    "write_baseline": "baseline.json",
    "out": "model.json",
    "rows": "rows.csv",
    "output": "tests.csv",
    "pairs": "pairs.csv",
    "plot_file": "flakehound.png",
    "journal": "study.jsonl",
}


def check_writable(json_file: Path | None, option: str = "json_file") -> None:
    """Better before the runs than after them; leaves nothing behind."""
    if json_file is None:
        return
    was_there = os.path.lexists(json_file)
    try:
        with open(json_file, "a"):
            pass
        if not was_there:
            json_file.unlink()
    except OSError as problem:
        raise _unwritable(json_file, problem, option, {}) from problem


def write_json(json_file: Path | None, text: str, option: str = "json_file", **changed: object) -> None:
    """Write the result; `changed` is what the remedy changes of the user's command beside the file's name."""
    if json_file is None:
        return
    try:
        json_file.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise _unwritable(json_file, problem, option, changed) from problem


def _unwritable(json_file: Path, problem: OSError, option: str, changed: dict[str, object]) -> UsageError:
    folder = "" if os.access(".", os.W_OK | os.X_OK) else tempfile.gettempdir()
    remedy = SameCommand(changes={option: os.path.join(folder, OTHER_NAMES[option]), **changed})
    return UsageError(f"cannot write {str(json_file)!r}: {problem.strerror}", remedy=remedy)
