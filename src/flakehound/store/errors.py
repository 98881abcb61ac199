"""Errors about the store's file, each with a command that resolves it."""

from __future__ import annotations

import os
import shlex
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from flakehound.core.errors import FlakehoundError, Remedy

DEFAULT_PATH_END = (".flakehound", "flakehound.db")  # the last parts of the default path
SUFFIXES = (".db", ".sqlite", ".sqlite3")  # a file with another suffix is probably not meant as a store

RemedyForPath = Callable[[Path], Remedy]  # the command that failed, with a store at this other path


def hunt_command(path: Path) -> str:
    """The command of a hunt with the store at this path."""
    return shlex.join(["flakehound", "hunt", *_store_option(path)])


class StoreError(FlakehoundError):
    """The store cannot be used as it is."""


class StoreMissing(StoreError):
    """There is no store, or an empty one."""

    def __init__(self, path: Path, remedy: Remedy | None = None) -> None:
        problem = f"{str(path)!r} is empty" if os.path.exists(path) else f"there is no store at {str(path)!r}"
        super().__init__(f"{problem}: nothing was hunted yet", remedy=remedy or hunt_command(path))


class StoreBroken(StoreError):
    """The file is not a store of flakehound, or it is damaged; it is never changed."""

    def __init__(self, path: Path, reason: str, *, remedy_for: RemedyForPath = hunt_command) -> None:
        super().__init__(
            f"{str(path)!r} is not a usable store: {reason}", remedy=_remedy_for_broken(path, remedy_for)
        )


class StoreTooNew(StoreError):
    """A newer version of flakehound wrote the store."""

    def __init__(self, path: Path, *, version: int, known_version: int) -> None:
        super().__init__(
            f"the store {str(path)!r} has version {version}, this flakehound knows up to {known_version}",
            remedy="pip install --upgrade flakehound",
        )


class StoreUnwritable(StoreError):
    """We have no permission to write the file or its folder."""

    def __init__(
        self, path: Path, *, blocked: Path, reason: str, remedy_for: RemedyForPath = hunt_command
    ) -> None:
        super().__init__(
            f"cannot write the store {str(path)!r}: {str(blocked)!r}: {reason}",
            remedy=_remedy_for_unwritable(path, blocked, remedy_for),
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
    """The store has no session with this id."""

    def __init__(self, path: Path, session_id: int) -> None:
        super().__init__(
            f"the store {str(path)!r} has no session {session_id}",
            remedy=_history_of(path),
        )


def nearest_existing(path: Path) -> Path:
    """The path itself, or the closest folder above it that exists."""
    # Not Path.exists, which raises an error if a folder above may not be searched.
    absolute = path.absolute()
    return next(folder for folder in (absolute, *absolute.parents) if os.path.exists(folder))


def _history_of(path: Path) -> str:
    return shlex.join(["flakehound", "history", *_store_option(path)])


def _store_option(path: Path) -> tuple[str, ...]:
    is_default = path.parts[-2:] == DEFAULT_PATH_END and (path.is_absolute() or path == Path(*DEFAULT_PATH_END))
    return () if is_default else ("--store", str(path))


def _remedy_for_broken(path: Path, remedy_for: RemedyForPath) -> Remedy:
    if os.path.isfile(path) and path.suffix not in SUFFIXES:
        # Probably a file of the user that was named by mistake, so it is not moved.
        return remedy_for(Path(f"{path}.db"))
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        return remedy_for(_other_path(path))  # a device or a pipe: `mv /dev/null` would break the machine
    return _move_aside(path)


def _move_aside(path: Path) -> str:
    # A free name, because mv would overwrite an earlier broken store, which may still contain data.
    new_path, attempt = f"{path}.broken", 2
    while os.path.lexists(new_path):
        new_path, attempt = f"{path}.broken-{attempt}", attempt + 1
    return shlex.join(["mv", "--", str(path), new_path])


def _remedy_for_unwritable(path: Path, blocked: Path, remedy_for: RemedyForPath) -> Remedy:
    if blocked.is_file() and blocked != path.absolute():
        return _move_aside(blocked)
    if _chmod_helps(blocked.stat()):
        return shlex.join(["chmod", "u+rwX", "--", str(blocked)])
    return remedy_for(_other_path(path))


def _other_path(path: Path) -> Path:
    project = path.absolute().parent.parent.name or "project"
    return Path(tempfile.gettempdir()) / f"flakehound-{os.geteuid()}-{project}" / "flakehound.db"


def _chmod_helps(blocked: os.stat_result) -> bool:
    # If root may not write, the reason is not the mode: /proc, or a read-only disk.
    return 0 != os.geteuid() == blocked.st_uid and not _owner_may_use(blocked.st_mode)


def _owner_may_use(mode: int) -> bool:
    needed = stat.S_IRWXU if stat.S_ISDIR(mode) else stat.S_IRUSR | stat.S_IWUSR
    return mode & needed == needed
