"""Shell commands about stores and folders that work when the user pastes them."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from flakehound.app.sessions.default_paths import DEFAULT_STORE, current_folder
from flakehound.report.command_line import flakehound_command


def store_arguments(store_path: Path) -> list[str]:
    """`--store PATH`, or nothing for the default store."""
    return [] if store_path == DEFAULT_STORE else ["--store", str(store_path)]


def hunt_command(
    store_path: Path, *options: str, folder: Path | None = None, pytest_args: Iterable[str] = ()
) -> str:
    """The command for a hunt that writes to this store, in the current folder or in another one."""
    is_here = folder is None or folder == current_folder()
    store = store_arguments(store_path if is_here else store_path.absolute())
    command = flakehound_command("hunt", [*options, *store], pytest_args)
    return command if folder is None else command_in_folder(folder, command)


def command_in_folder(folder: Path, command: str) -> str:
    """The command with a `cd` before it, unless the user is in that folder already."""
    return command if folder == current_folder() else f"cd {shlex.quote(str(folder))} && {command}"
