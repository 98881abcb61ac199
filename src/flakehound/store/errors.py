"""What can go wrong with the store's file, each with a command that mends it."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from pathlib import Path

from flakehound.core.errors import FlakehoundError

USUAL_PLACE = (".flakehound", "flakehound.db")  # the last parts of the path when nobody chose another


class StoreError(FlakehoundError):
    """The store cannot be used as it is."""


class StoreMissing(StoreError):
    """Nothing was hunted yet."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"there is no store at {str(path)!r}: nothing was hunted yet", remedy=_hunt_into(path))


class StoreBroken(StoreError):
    """The file is no store of ours, or a damaged one; it is never touched."""

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(f"{str(path)!r} is not a usable store: {reason}", remedy=_move_aside(path))


class StoreFromTheFuture(StoreError):
    """A newer flakehound wrote it."""

    def __init__(self, path: Path, *, found: int, known: int) -> None:
        super().__init__(
            f"the store {str(path)!r} has version {found}, this flakehound knows up to {known}",
            remedy="pip install --upgrade flakehound",
        )


class StoreUnwritable(StoreError):
    """The file or its folder may not be written."""

    def __init__(self, path: Path, *, blocked: Path, reason: str) -> None:
        super().__init__(
            f"cannot write the store {str(path)!r}: {str(blocked)!r}: {reason}",
            remedy=_way_around(path, blocked),
        )


class StoreFull(StoreError):
    """No room for what was to be written; what was written before is safe."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"no room left to write the store {str(path)!r}; every run stored before is safe",
            remedy=shlex.join(["df", "-h", str(path.parent)]),
        )


class StoreBusy(StoreError):
    """Another process kept it locked for longer than we wait."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"another process keeps the store {str(path)!r} locked", remedy=_hunt_into(path, "--resume")
        )


class NoSuchSession(StoreError):
    """The store holds no hunt of that number."""

    def __init__(self, path: Path, session_id: int) -> None:
        super().__init__(f"the store {str(path)!r} has no session {session_id}", remedy="flakehound history")


def nearest_existing(path: Path) -> Path:
    """The path itself, or the closest folder above it that is there."""
    # os.path.exists: Path.exists raises where a folder on the way may not be searched.
    absolute = path.absolute()
    return next(place for place in (absolute, *absolute.parents) if os.path.exists(place))


def _hunt_into(path: Path, *options: str) -> str:
    place = () if path.parts[-2:] == USUAL_PLACE else ("--store", str(path))
    return shlex.join(["flakehound", "hunt", *options, *place])


def _move_aside(path: Path) -> str:
    # mv would overwrite an earlier broken store, which may still hold something to rescue.
    aside, attempt = f"{path}.broken", 2
    while os.path.lexists(aside):
        aside, attempt = f"{path}.broken-{attempt}", attempt + 1
    return shlex.join(["mv", "--", str(path), aside])


def _way_around(path: Path, blocked: Path) -> str:
    if blocked.is_file() and blocked != path.absolute():
        return _move_aside(blocked)
    found = blocked.stat()
    if found.st_uid == os.geteuid() and not _owner_may_use(found.st_mode):
        return shlex.join(["chmod", "u+rwX", "--", str(blocked)])
    project = path.absolute().parent.parent.name or "project"
    return _hunt_into(Path(tempfile.gettempdir()) / f"flakehound-{os.geteuid()}-{project}" / "flakehound.db")


def _owner_may_use(mode: int) -> bool:
    needed = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR | stat.S_IWUSR
    return mode & needed == needed
