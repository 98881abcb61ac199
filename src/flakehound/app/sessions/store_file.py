"""Open the store that a command names, or raise an error that says what is wrong with its path."""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable
from pathlib import Path

from flakehound.app.sessions.commands import hunt_command
from flakehound.app.sessions.default_paths import DEFAULT_STORE, current_folder
from flakehound.app.sessions.plain_runs import PENDING_FOLDER
from flakehound.core.errors import CommandSequence, Remedy, SameCommand, UsageError, same_command
from flakehound.store import SessionInfo, Store, StoreError, StoreMissing
from flakehound.store.opening import check_access, check_path, is_database, is_empty


def check_store(store_path: Path) -> None:
    """Refuse a store that cannot be written, before anything is started; creates no file."""
    if _is_folder(store_path):
        inside = store_in(store_path) or store_path / DEFAULT_STORE.name
        raise _folder_error(store_path, same_command(store_path=inside))
    check_path(store_path, remedy_for=lambda path: same_command(store_path=path))


def existing_store(store_path: Path) -> Store:
    """The store, which must exist and not be empty."""
    if _is_folder(store_path):
        inside = store_in(store_path)
        hunt = hunt_command(store_path / DEFAULT_STORE.name)
        raise _folder_error(store_path, same_command(store_path=inside) if inside else hunt)
    if _is_missing_or_empty(store_path):
        raise StoreMissing(store_path, remedy=hunt_command(store_path))
    if is_database(store_path):
        copied = _after_copying(store_path, lambda path: same_command(store_path=path))
        check_access(store_path, copied if os.access(store_path, os.R_OK) else hunt_command)
    return Store.open(store_path, create=False)


def store_with_runs(store_path: Path) -> Store:
    """The store; created if there are only pending runs of the plugin so far."""
    has_pending_runs = _is_missing_or_empty(store_path) and any(
        (store_path.parent / PENDING_FOLDER).glob("*.json")
    )
    return Store.open(store_path) if has_pending_runs else existing_store(store_path)


def check_merge_source(other: Path) -> None:
    """Refuse a path that is no store to merge from; a damaged store is noticed later, when it is read."""
    if _is_folder(other):
        inside = store_in(other)
        raise _folder_error(other, same_command(other=inside) if inside else _find_stores(other))
    if not os.path.exists(other):
        raise StoreError(f"there is no store at {str(other)!r} to copy from", remedy=_find_stores(Path(".")))
    if not is_database(other):
        raise StoreError(f"{str(other)!r} is not a store", remedy=_find_stores(Path(".")))
    if not os.access(other, os.R_OK):
        raise StoreError(f"{str(other)!r} may not be read", remedy=shlex.join(["ls", "-l", "--", str(other)]))
    check_access(other, _after_copying(other, lambda path: same_command(other=path)))


def _after_copying(store_path: Path, command: Callable[[Path], SameCommand]) -> Callable[[Path], CommandSequence]:
    """Copy the store, then run the command: reading a store needs write access, which a copy gives."""

    def copy_first(copy_path: Path) -> CommandSequence:
        make_folder = shlex.join(["mkdir", "-p", str(copy_path.parent)])
        copy = shlex.join(["cp", "--", str(store_path), str(copy_path)])
        return CommandSequence(commands=(make_folder, copy, command(copy_path)))

    return copy_first


def session_to_resume(store_path: Path, folder: Path | None = None) -> SessionInfo:
    """The newest hunt of a folder, by default of the current one."""
    folder, session = folder or current_folder(), None
    if not _is_missing_or_empty(store_path):
        with existing_store(store_path) as store:
            session = store.latest_hunt(str(folder))
    if session is None:
        raise UsageError(
            f"there is no hunt of {str(folder)!r} to resume",
            remedy=same_command(resume=None),
        )
    return session


def store_in(folder: Path) -> Path | None:
    """The store in a folder, under its usual names; None if there is none."""
    paths = (folder / DEFAULT_STORE.name, folder / DEFAULT_STORE)
    return next((path for path in paths if os.path.isfile(path)), None)


def _is_folder(path: Path) -> bool:
    # The user did not name the default path. If a folder is there, the store's own error suggests to move it.
    return path != DEFAULT_STORE and os.path.isdir(path)


def _folder_error(path: Path, remedy: Remedy) -> UsageError:
    return UsageError(f"{str(path)!r} is a folder; a store is a file", remedy=remedy)


def _is_missing_or_empty(store_path: Path) -> bool:
    return not os.path.lexists(store_path) or is_empty(store_path)


def _find_stores(folder: Path) -> str:
    return shlex.join(["find", str(folder), "-name", "*.db"])
