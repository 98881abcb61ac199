"""The current folder and the default path of its store."""

from __future__ import annotations

from pathlib import Path

from flakehound.core.errors import UsageError

DEFAULT_STORE = Path(".flakehound") / "flakehound.db"


def current_folder() -> Path:
    """The current folder; raises a usage error if it was removed."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder was removed", remedy="cd") from error
