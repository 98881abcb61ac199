"""Errors about the store's file, each with a command that resolves it."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from flakehound.core.errors import FlakehoundError, Remedy

DEFAULT_PLACE = (".flakehound", "flakehound.db")  # the last parts of the default path
SUFFIXES = (".db", ".sqlite", ".sqlite3")  # a file of another name is probably not meant as a store

Into = Callable[[Path], Remedy]  # the command that does with the store at another path what could not be done here


def hunt_into(path: Path) -> str:
    """A hunt that is kept at this path."""
    return shlex.join(["flakehound", "hunt", *_place(path)])


class StoreError(FlakehoundError):
    """The store cannot be used as it is."""


class StoreMissing(StoreError):
    """There is no store, or an empty one."""

    def __init__(self, path: Path, remedy: Remedy | None = None) -> None:
        found = f"{str(path)!r} is empty" if os.path.exists(path) else f"there is no store at {str(path)!r}"
        super().__init__(f"{found}: nothing was hunted yet", remedy=remedy or hunt_into(path))


class StoreBroken(StoreError):
    """The file is no store of ours, or a damaged one; it is never changed."""

    def __init__(self, path: Path, reason: str, *, into: Into = hunt_into) -> None:
        super().__init__(f"{str(path)!r} is not a usable store: {reason}", remedy=_remedy_for_broken(path, into))


class StoreTooNew(StoreError):
    """A newer flakehound wrote it."""

    def __init__(self, path: Path, *, found: int, known: int) -> None:
        super().__init__(
            f"the store {str(path)!r} has version {found}, this flakehound knows up to {known}",
            remedy="pip install --upgrade flakehound",
        )


class StoreUnwritable(StoreError):
    """The file or its folder may not be written."""

    def __init__(self, path: Path, *, blocked: Path, reason: str, into: Into = hunt_into) -> None:
        super().__init__(
            f"cannot write the store {str(path)!r}: {str(blocked)!r}: {reason}",
            remedy=_remedy_for_unwritable(path, blocked, into),
        )


class StoreFull(StoreError):
    """The disk is full; runs stored before are safe."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"no room left to write the store {str(path)!r}; every run stored before is safe",
            remedy=shlex.join(["df", "-h", str(path.parent)]),
        )


class StoreBusy(StoreError):
    """Another process kept the store locked for longer than we wait."""

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"another process keeps the store {str(path)!r} locked; every run stored before is safe",
            remedy=_history_of(path),
        )


class NoSuchSession(StoreError):
    """The store holds no hunt of that number."""

    def __init__(self, path: Path, session_id: int) -> None:
        super().__init__(
            f"the store {str(path)!r} has no session {session_id}",
            remedy=_history_of(path),
        )


def nearest_existing(path: Path) -> Path:
    """The path itself, or the closest folder above it that is there."""
    # os.path.exists: Path.exists raises where a folder on the way may not be searched.
    absolute = path.absolute()
    return next(place for place in (absolute, *absolute.parents) if os.path.exists(place))


def _history_of(path: Path) -> str:
    return shlex.join(["flakehound", "history", *_place(path)])


def _place(path: Path) -> tuple[str, ...]:
    is_default = path.parts[-2:] == DEFAULT_PLACE and (path.is_absolute() or path == Path(*DEFAULT_PLACE))
    return () if is_default else ("--store", str(path))


def _remedy_for_broken(path: Path, into: Into) -> Remedy:
    if os.path.isfile(path) and path.suffix not in SUFFIXES:
        # A file of the user's own, named by mistake: it stays where it is.
        return into(Path(f"{path}.db"))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return into(_other_place(path))  # a device, a pipe: `mv /dev/null` would break the machine
    return _move_aside(path)


def _move_aside(path: Path) -> str:
    # mv would overwrite an earlier broken store, which may still hold data.
    aside, attempt = f"{path}.broken", 2
    while os.path.lexists(aside):
        aside, attempt = f"{path}.broken-{attempt}", attempt + 1
    return shlex.join(["mv", "--", str(path), aside])


def _remedy_for_unwritable(path: Path, blocked: Path, into: Into) -> Remedy:
    if blocked.is_file() and blocked != path.absolute():
        return _move_aside(blocked)
    if _chmod_helps(blocked.stat()):
        return shlex.join(["chmod", "u+rwX", "--", str(blocked)])
    return into(_other_place(path))


def _other_place(path: Path) -> Path:
    project = path.absolute().parent.parent.name or "project"
    return Path(tempfile.gettempdir()) / f"flakehound-{os.geteuid()}-{project}" / "flakehound.db"


def _chmod_helps(blocked: os.stat_result) -> bool:
    # What is forbidden to root is forbidden by something else than the mode: /proc, a read-only disk.
    return 0 != os.geteuid() == blocked.st_uid and not _owner_may_use(blocked.st_mode)


def _owner_may_use(mode: int) -> bool:
    needed = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR | stat.S_IWUSR
    return mode & needed == needed
