"""The folder the user works in and the usual place of its store."""

from __future__ import annotations

from pathlib import Path

from flakehound.core.errors import UsageError

DEFAULT_STORE = Path(".flakehound") / "flakehound.db"


def current_folder() -> Path:
    """The folder the user is in."""
    try:
        return Path.cwd()
    except FileNotFoundError as error:
        raise UsageError("the current folder was removed", remedy="cd") from error
