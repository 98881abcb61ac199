"""One SQLite connection: its settings, its transactions, and its errors as errors of ours."""

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


def configure(connection: sqlite3.Connection) -> None:
    """Let readers and one writer work at the same time.

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
    """Write all of it or nothing; waits for other writers first."""
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
    """Read one state of the file, whatever other processes write at the same time."""
    connection.execute("BEGIN")
    try:
        yield
    finally:
        connection.execute("ROLLBACK")


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Raise SQLite's errors as ours, which name the file and a remedy."""
    try:
        yield
    except (sqlite3.DatabaseError, zlib.error) as error:
        translated = _translated(error, path)
        if translated is None:
            raise
        raise translated from error


def _translated(error: Exception, path: Path) -> StoreError | None:
    # By message: `sqlite_errorcode` exists only from Python 3.11 on.
    message = str(error)
    if "disk is full" in message:
        return StoreFull(path)
    if "locked" in message:
        return StoreBusy(path)
    if any(sign in message for sign in ("readonly", "unable to open", "disk I/O error")):
        return StoreUnwritable(path, blocked=nearest_existing(path), reason=message)
    damaged = ("not a database", "malformed", "no such table", "no such column")
    if isinstance(error, zlib.error) or any(sign in message for sign in damaged):
        return StoreBroken(path, message)
    return None
