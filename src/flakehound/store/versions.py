"""Creates the current tables in a database, or migrates older ones."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

from flakehound.store.connection import snapshot, transaction
from flakehound.store.errors import StoreBroken, StoreMissing, StoreTooNew
from flakehound.store.schema import APPLICATION_ID, CURRENT, Schema

_EMPTY = 0


def create_or_migrate(
    connection: sqlite3.Connection, path: Path, *, create: bool, schema: Schema = CURRENT
) -> None:
    """Bring the tables to the version of `schema`; rejects databases of other programs and newer versions."""
    # One snapshot, because another process may create the tables between two reads.
    with snapshot(connection):
        version = _version(connection, path, schema)
    if version == schema.version:
        return
    with transaction(connection):
        # Again, because another process may have migrated it while we waited for the lock.
        version = _version(connection, path, schema)
        if version == _EMPTY and not create:
            raise StoreMissing(path)
        for statement in _statements_since(version, path, schema):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id={APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version={schema.version}")


def _version(connection: sqlite3.Connection, path: Path, schema: Schema) -> int:
    application_id = _number(connection, "PRAGMA application_id")
    if application_id != APPLICATION_ID:
        if application_id or _number(connection, "SELECT COUNT(*) FROM sqlite_master"):
            raise StoreBroken(path, "it is the database of another program")
        return _EMPTY
    version = _number(connection, "PRAGMA user_version")
    if version > schema.version:
        raise StoreTooNew(path, version=version, known_version=schema.version)
    return version


def _number(connection: sqlite3.Connection, query: str) -> int:
    return int(connection.execute(query).fetchone()[0])


def _statements_since(version: int, path: Path, schema: Schema) -> Iterator[str]:
    if version == _EMPTY:
        yield from _statements(schema.sql)
        return
    for step in range(version, schema.version):
        if step not in schema.migrations:
            raise StoreBroken(path, f"no migration leads on from its version {step}")
        yield from _statements(schema.migrations[step])


def _statements(sql: str) -> Iterator[str]:
    # Not `executescript`, which commits first: a migration must happen completely or not at all.
    pending = ""
    for line in sql.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            yield pending
            pending = ""
    if pending.strip():
        yield pending
