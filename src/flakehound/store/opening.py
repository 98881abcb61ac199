"""Open or create the store's file without damaging one that exists."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from flakehound.store.connection import configure_connection, connect, translated_errors
from flakehound.store.errors import (
    RemedyForPath,
    StoreBroken,
    StoreMissing,
    StoreUnwritable,
    hunt_command,
    nearest_existing,
)
from flakehound.store.folder import create_folder, ignore_folder
from flakehound.store.versions import create_or_migrate

MIN_DATABASE_BYTES = 512  # bytes of SQLite's smallest page


def open_connection(path: Path, *, create: bool, remedy_for: RemedyForPath = hunt_command) -> sqlite3.Connection:
    """Connect to the store at `path` and bring its tables up to date; errors suggest the command `remedy_for`."""
    _check_file(path, create=create, remedy_for=remedy_for)
    if create:
        _create_folder(path, remedy_for)
    check_access(path, remedy_for)
    with translated_errors(path):
        connection = connect(path)
        try:
            create_or_migrate(connection, path, create=create)
            configure_connection(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def check_path(path: Path, remedy_for: RemedyForPath = hunt_command) -> None:
    """Raise an error if no store can be opened or created at this path; creates nothing."""
    if os.path.lexists(path) and not is_empty(path):
        open_connection(path, create=False, remedy_for=remedy_for).close()
        return
    nearest = nearest_existing(path.parent)
    if not os.path.isdir(nearest):
        raise StoreUnwritable(path, blocked=nearest, reason="it is not a folder", remedy_for=remedy_for)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreUnwritable(path, blocked=nearest, reason="the folder may not be written", remedy_for=remedy_for)


def is_empty(path: Path) -> bool:
    """Whether the file is empty, for example because a process was killed while it created a store."""
    return os.path.isfile(path) and os.path.getsize(path) == 0


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database; also True if it may not be read, as opening gives a better error.

    Asks SQLite. If we opened and closed the file ourselves, this process would lose the locks that its other
    connections have on it (POSIX locks belong to the process), and another writer could damage the file.
    """
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return os.path.isfile(path)
    if os.path.getsize(path) < MIN_DATABASE_BYTES:
        return False
    connection = None
    try:
        connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.DatabaseError as error:
        return "not a database" not in str(error)
    finally:
        if connection is not None:
            connection.close()
    return True


def check_integrity(connection: sqlite3.Connection, path: Path) -> None:
    """Check the whole file for damage; too slow for every opening."""
    with translated_errors(path):
        answer = str(connection.execute("PRAGMA quick_check(1)").fetchone()["quick_check"])
    if answer != "ok":
        raise StoreBroken(path, answer)


def _check_file(path: Path, *, create: bool, remedy_for: RemedyForPath) -> None:
    if not os.path.lexists(path):
        if not create:
            raise StoreMissing(path)
    elif not os.path.isfile(path):
        raise StoreBroken(path, "it is not a regular file", remedy_for=remedy_for)
    elif not is_empty(path) and not is_database(path):
        # SQLite would notice only later, and would overwrite a file of one byte as if it were empty.
        raise StoreBroken(path, "file is not a database", remedy_for=remedy_for)


def _create_folder(path: Path, remedy_for: RemedyForPath) -> None:
    folder = path.parent
    existed = os.path.isdir(folder)
    try:
        create_folder(folder)
        if not existed:
            ignore_folder(folder)
    except OSError as error:
        if existed:
            return  # a folder that may not be written is reported by `check_access`
        reason = error.strerror or str(error)
        raise StoreUnwritable(
            path, blocked=nearest_existing(folder), reason=reason, remedy_for=remedy_for
        ) from error


def check_access(path: Path, remedy_for: RemedyForPath = hunt_command) -> None:
    """Raise an error if the store may not be written; SQLite writes even to read it."""
    # SQLite opens a read-only file without an error, and fails only at the first write.
    if not os.access(path.parent, os.W_OK | os.X_OK):
        blocked, reason = path.parent.absolute(), "the folder may not be written"
        raise StoreUnwritable(path, blocked=blocked, reason=reason, remedy_for=remedy_for)
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnwritable(
            path, blocked=path.absolute(), reason="the file may not be written", remedy_for=remedy_for
        )
