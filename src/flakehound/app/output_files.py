"""The file that `--json`, or another option, names."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from flakehound.core.errors import SameCommand, UsageError

# Parameter -> file name that a remedy suggests in place of one that cannot be written.
SUGGESTED_NAMES = {
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


def check_writable(file: Path | None, option: str = "json_file") -> None:
    """Refuse a file that cannot be written, before the runs are made; creates no file."""
    if file is None:
        return
    existed = os.path.lexists(file)
    try:
        with open(file, "a"):
            pass
        if not existed:
            file.unlink()
    except OSError as problem:
        raise _unwritable(file, problem, option, {}) from problem


def write_output(file: Path | None, text: str, option: str = "json_file", **changed: object) -> None:
    """Write the result. If that fails, the remedy changes the file's name and the parameters in `changed`."""
    if file is None:
        return
    try:
        file.write_text(text, encoding="utf-8", newline="")
    except OSError as problem:
        raise _unwritable(file, problem, option, changed) from problem


def _unwritable(file: Path, problem: OSError, option: str, changed: dict[str, object]) -> UsageError:
    folder = "" if os.access(".", os.W_OK | os.X_OK) else tempfile.gettempdir()
    remedy = SameCommand(changes={option: os.path.join(folder, SUGGESTED_NAMES[option]), **changed})
    return UsageError(f"cannot write {str(file)!r}: {problem.strerror}", remedy=remedy)
