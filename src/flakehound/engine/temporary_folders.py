"""Temporary folders whose name has the id of the process that owns them, so that abandoned ones can be removed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
from pathlib import Path

PREFIX = "fh-"
# Tests create sockets in their temporary folder, whose paths may have at most 107 characters. Those of
# multiprocessing have 33 below it, and the temporary folder of a run has up to 39 below the user's one.
MAX_PARENT_LENGTH = 35
_SHORT_PARENT = "/tmp"


def new_folder() -> Path:
    """Create a folder that this process owns; not in the user's temporary folder if its path is long."""
    return Path(tempfile.mkdtemp(prefix=own_prefix(), dir=_parent()))


def _parent() -> str:
    usual = tempfile.gettempdir()
    is_short = len(usual) <= MAX_PARENT_LENGTH
    return usual if is_short or not os.access(_SHORT_PARENT, os.W_OK | os.X_OK) else _SHORT_PARENT


def own_prefix() -> str:
    """The beginning of the name of every folder that this process owns."""
    return f"{PREFIX}{os.getpid()}-"


def is_abandoned(folder: Path) -> bool:
    """Whether a folder is one of ours whose owner has ended."""
    owner = folder.name.removeprefix(PREFIX).partition("-")[0]
    return folder.name.startswith(PREFIX) and owner.isdigit() and not _is_alive(int(owner))


def remove_abandoned_folders() -> None:
    """Remove the folders of hunts that were killed."""
    for folder in Path(_parent()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            if is_abandoned(folder) and folder.stat().st_uid == os.getuid():
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # it exists, and belongs to another user
        return True
    return True
