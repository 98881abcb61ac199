"""Open or create the store's file without damaging one that exists."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from flakehound.store.connection import configure, connect, translated_errors
from flakehound.store.errors import (
    Into,
    StoreBroken,
    StoreMissing,
    StoreUnwritable,
    hunt_into,
    nearest_existing,
)
from flakehound.store.versions import prepare

SMALLEST_DATABASE = 512  # bytes of SQLite's smallest page


def open_connection(path: Path, *, create: bool, into: Into = hunt_into) -> sqlite3.Connection:
    """A connection to the store at `path` with the current tables; `into` gives the command that errors offer."""
    _check_file(path, create=create, into=into)
    if create:
        _create_folder(path, into)
    check_access(path, into)
    with translated_errors(path):
        connection = connect(path)
        try:
            prepare(connection, path, create=create)
            configure(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def check_place(path: Path, into: Into = hunt_into) -> None:
    """Refuse a place where no store could be opened; creates none."""
    if os.path.lexists(path) and not is_empty(path):
        open_connection(path, create=False, into=into).close()
        return
    nearest = nearest_existing(path.parent)
    if not os.path.isdir(nearest):
        raise StoreUnwritable(path, blocked=nearest, reason="it is not a folder", into=into)
    if not os.access(nearest, os.W_OK | os.X_OK):
        raise StoreUnwritable(path, blocked=nearest, reason="the folder may not be written", into=into)


def is_empty(path: Path) -> bool:
    """Whether it is an empty file, such as a process leaves that is killed while it creates a store."""
    return os.path.isfile(path) and os.path.getsize(path) == 0


def is_database(path: Path) -> bool:
    """Whether a file is an SQLite database; one that may not be read counts, as opening it gives a better error.

    Asks SQLite itself. To open and close the file by hand would drop the locks that this process holds on it
    through any other connection (POSIX locks belong to the process), and another writer could then damage it.
    """
    if not os.path.isfile(path) or not os.access(path, os.R_OK):
        return os.path.isfile(path)
    if os.path.getsize(path) < SMALLEST_DATABASE:
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


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Read the whole file for damage; too slow for every opening."""
    with translated_errors(path):
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()["quick_check"])
    if found != "ok":
        raise StoreBroken(path, found)


def _check_file(path: Path, *, create: bool, into: Into) -> None:
    if not os.path.lexists(path):
        if not create:
            raise StoreMissing(path)
    elif not os.path.isfile(path):
        raise StoreBroken(path, "it is not a regular file", into=into)
    elif not is_empty(path) and not is_database(path):
        # SQLite would notice later, and would take a file of one byte for an empty one and overwrite it.
        raise StoreBroken(path, "file is not a database", into=into)


def _create_folder(path: Path, into: Into) -> None:
    folder = path.parent
    if os.path.isdir(folder):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreUnwritable(path, blocked=nearest_existing(folder), reason=reason, into=into) from error


def check_access(path: Path, into: Into = hunt_into) -> None:
    """Refuse a store that may not be written; reading one writes, too."""
    # SQLite opens a read-only file without an error, and fails only at the first write.
    if not os.access(path.parent, os.W_OK | os.X_OK):
        blocked, reason = path.parent.absolute(), "the folder may not be written"
        raise StoreUnwritable(path, blocked=blocked, reason=reason, into=into)
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnwritable(path, blocked=path.absolute(), reason="the file may not be written", into=into)
