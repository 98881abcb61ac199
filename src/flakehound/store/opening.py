"""Find or make the store's file, without ever harming one that is there."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

from flakehound.store.connection import connect, errors_told, tune
from flakehound.store.errors import StoreBroken, StoreMissing, StoreUnwritable, nearest_existing
from flakehound.store.versions import prepare

SMALLEST_DATABASE = 512  # bytes of SQLite's smallest page


def opened(path: Path, *, create: bool) -> sqlite3.Connection:
    """A connection to the store at `path`, today's tables in it."""
    _check_file(path, create=create)
    if create:
        _make_folder(path)
    _check_access(path)
    with errors_told(path):
        connection = connect(path)
        try:
            prepare(connection, path, create=create)
            tune(connection)
        except BaseException:
            connection.close()
            raise
    return connection


def check_whole(connection: sqlite3.Connection, path: Path) -> None:
    """Read the whole file for damage; too slow for every opening."""
    with errors_told(path):
        found = str(connection.execute("PRAGMA quick_check(1)").fetchone()["quick_check"])
    if found != "ok":
        raise StoreBroken(path, found)


def _check_file(path: Path, *, create: bool) -> None:
    if not os.path.lexists(path) and not create:
        raise StoreMissing(path)
    if os.path.lexists(path) and not os.path.isfile(path):
        raise StoreBroken(path, "it is not a regular file")
    # SQLite takes a file of one byte for an empty one, and would overwrite it.
    if os.path.lexists(path) and 0 < os.path.getsize(path) < SMALLEST_DATABASE:
        raise StoreBroken(path, "file is not a database")


def _make_folder(path: Path) -> None:
    folder = path.parent
    if os.path.isdir(folder):
        return
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
    except OSError as error:
        reason = error.strerror or str(error)
        raise StoreUnwritable(path, blocked=nearest_existing(folder), reason=reason) from error


def _check_access(path: Path) -> None:
    # SQLite opens a file it may not write without a word, and fails only at the first write.
    if not os.access(path.parent, os.W_OK | os.X_OK):
        raise StoreUnwritable(path, blocked=path.parent.absolute(), reason="the folder may not be written")
    if os.path.exists(path) and not os.access(path, os.R_OK | os.W_OK):
        raise StoreUnwritable(path, blocked=path.absolute(), reason="the file may not be written")
