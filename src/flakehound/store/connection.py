"""SQLite connections: settings, transactions, and the translation of errors."""

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
    """A connection without automatic transactions."""
    connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None)
    connection.row_factory = sqlite3.Row
    return connection


def configure_connection(connection: sqlite3.Connection) -> None:
    """Make it possible that several processes read while one writes.

    NORMAL does not sync each commit: a killed process loses nothing, a power failure the last moments.
    """
    _enter_wal(connection)
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA journal_size_limit=67108864")  # a large merge must not leave a large WAL


def _enter_wal(connection: sqlite3.Connection) -> None:
    # SQLite skips the busy timeout when two processes switch a new file to WAL at once.
    deadline = time.monotonic() + BUSY_S
    while not _try_wal(connection, last_try=time.monotonic() > deadline):
        time.sleep(0.01)


def _try_wal(connection: sqlite3.Connection, *, last_try: bool) -> bool:
    try:
        connection.execute("PRAGMA journal_mode=WAL")
    except sqlite3.OperationalError as error:
        if last_try or "locked" not in str(error):
            raise
        return False
    return True


@contextmanager
def transaction(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction for writing; waits for other writers first."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        # After some errors, such as a full disk, SQLite has already rolled back.
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


@contextmanager
def snapshot(connection: sqlite3.Connection) -> Iterator[None]:
    """A transaction for reading: all reads see the same state of the file."""
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
        translated = _translate(error, path)
        if translated is None:
            raise
        raise translated from error


def _translate(error: Exception, path: Path) -> StoreError | None:
    # By message, because `sqlite_errorcode` exists only since Python 3.11.
    message = str(error)
    if "disk is full" in message:
        return StoreFull(path)
    if "locked" in message:
        return StoreBusy(path)
    if any(phrase in message for phrase in ("readonly", "unable to open", "disk I/O error")):
        return StoreUnwritable(path, blocked=nearest_existing(path), reason=message)
    damage_phrases = ("not a database", "malformed", "no such table", "no such column")
    if isinstance(error, zlib.error) or any(phrase in message for phrase in damage_phrases):
        return StoreBroken(path, message)
    return None
