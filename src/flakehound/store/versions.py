"""Bring a database to the current tables: create them, migrate them, or say why that is impossible."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from flakehound.store.connection import snapshot, transaction
from flakehound.store.errors import StoreBroken, StoreMissing, StoreTooNew
from flakehound.store.schema import APPLICATION_ID, CURRENT, Schema

EMPTY = 0


def prepare(connection: sqlite3.Connection, path: Path, *, create: bool, schema: Schema = CURRENT) -> None:
    """Bring the database to the version of `schema`; refuse one of another program or of a newer version."""
    # One snapshot: between two reads another process may create the tables.
    with snapshot(connection):
        found = _version(connection, path, schema)
    if found == schema.version:
        return
    with transaction(connection):
        # Another process may have done it while we waited for the lock.
        found = _version(connection, path, schema)
        if found == EMPTY and not create:
            raise StoreMissing(path)
        for statement in _steps(found, path, schema):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={schema.version}")


def _version(connection: sqlite3.Connection, path: Path, schema: Schema) -> int:
    owner = _number(connection, "PRAGMA application_id")
    if owner != APPLICATION_ID:
        if owner or _number(connection, "SELECT COUNT(*) FROM sqlite_master"):
            raise StoreBroken(path, "it is the database of another program")
        return EMPTY
    found = _number(connection, "PRAGMA user_version")
    if found > schema.version:
        raise StoreTooNew(path, found=found, known=schema.version)
    return found


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _steps(found: int, path: Path, schema: Schema) -> Iterator[str]:
    if found == EMPTY:
        yield from _statements(schema.sql)
        return
    for version in range(found, schema.version):
        if version not in schema.migrations:
            raise StoreBroken(path, f"no migration leads on from its version {version}")
        yield from _statements(schema.migrations[version])


def _statements(sql: str) -> Iterator[str]:
    # Not `executescript`: it commits first, and a migration must happen whole or not at all.
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
