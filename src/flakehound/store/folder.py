"""Create the folder `.flakehound` of a project, which git ignores without a line in the project's own files."""

from __future__ import annotations

from pathlib import Path

FOLDER_NAME = ".flakehound"


def create_folder(folder: Path) -> None:
    """Create a folder for files of ours; one below `.flakehound` is ignored by git. Raises `OSError`."""
    folder.mkdir(parents=True, exist_ok=True)
    for own in (folder, *folder.parents):
        if own.name == FOLDER_NAME:
            ignore_folder(own)
            return


def ignore_folder(folder: Path) -> None:
    """Let git ignore everything in a folder; a `.gitignore` that is there stays as it is. Raises `OSError`."""
    file = folder / ".gitignore"
    if not file.exists():
        file.write_text("*\n", encoding="utf-8")
