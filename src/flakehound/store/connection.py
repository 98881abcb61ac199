"""One SQLite connection: how it is tuned, how it writes, and what its errors mean to the user."""

from __future__ import annotations

import sqlite3
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from flakehound.store.errors import (
    StoreBroken,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreUnwritable,
    nearest_existing,
)

BUSY_S = 30.0  # how long to wait for another process that writes


def connect(path: Path) -> sqlite3.Connection:
    """A connection that leaves transactions to us."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def tune(connection: sqlite3.Connection) -> None:
    """Let readers and one writer work side by side.

    NORMAL does not sync each commit: a killed process loses nothing, a power cut the last moments.
    """
    _enter_wal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=67108864")  # a large merge must not leave a large WAL


def _enter_wal(connection: sqlite3.Connection) -> None:
    # SQLite skips the busy timeout when two processes switch a new file to WAL at once.
    deadline = time.monotonic() + BUSY_S
    while not _in_wal(connection, last_try=time.monotonic() > deadline):
        time.sleep(0.01)


def _in_wal(connection: sqlite3.Connection, *, last_try: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if last_try or "locked" not in str(error):
            raise
        return False
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; waits for other writers first."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # SQLite has rolled back by itself after some errors, a full disk among them.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """Read one state of the file, whatever others write meanwhile."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn SQLite's errors into ours, which name the file and a remedy."""
    try:
        yield
    except (sqlite3.DatabaseError, zlib.error) as error:
        told = _told(error, path)
        if told is None:
            raise
        raise told from error


def _told(error: Exception, path: Path) -> StoreError | None:
    # By message, because `sqlite_errorcode` came only with Python 3.11.
    words = str(error)
    if "disk is full" in words:
        return StoreFull(path)
    if "locked" in words:
        return StoreBusy(path)
    if any(sign in words for sign in ("readonly", "unable to open", "disk I/O error")):
        return StoreUnwritable(path, blocked=nearest_existing(path), reason=words)
    damaged = ("not a database", "malformed", "no such table", "no such column")
    if isinstance(error, zlib.error) or any(sign in words for sign in damaged):
        return StoreBroken(path, words)
    return None
