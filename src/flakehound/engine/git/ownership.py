"""Which repositories of another user our own git calls may use.

Git refuses a repository that another user owns ("dubious ownership"), because its settings can start programs.
pytest runs the code of the project anyway. So a repository is used if it belongs to the owner of the project's
folder, to the current user or to root; not if a third user has put a `.git` into a folder above the project.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_ROOT_USER = 0
_LINK_PREFIX = "gitdir:"


def trusted_top(folder: Path) -> Path | None:
    """The top of the repository around a folder, found without git; None: there is none, or not a trusted one."""
    real = Path(os.path.realpath(folder))
    top = next((parent for parent in (real, *real.parents) if (parent / ".git").exists()), None)
    if top is None or not hasattr(os, "geteuid"):
        return None
    try:
        trusted = {os.geteuid(), _ROOT_USER, real.stat().st_uid}
        owners = {os.stat(path).st_uid for path in _parts_of_repository(top)}
    except OSError:
        return None
    return top if owners <= trusted else None


def _parts_of_repository(top: Path) -> Iterator[Path]:
    """The folders and files whose owner git checks."""
    yield top
    git_folder = top / ".git"
    yield git_folder
    if git_folder.is_file():  # of a linked worktree or a submodule
        text = git_folder.read_text(encoding="utf-8", errors="surrogateescape").strip()
        if text.startswith(_LINK_PREFIX):
            yield top / text.removeprefix(_LINK_PREFIX).strip()
