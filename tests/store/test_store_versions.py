from __future__ import annotations

import re
import sqlite3

import pytest
from store_samples import a_run, a_session, a_suite

from flakehound.store import Store, StoreBroken, StoreTooNew
from flakehound.store.connection import connect
from flakehound.store.schema import CURRENT, Schema
from flakehound.store.versions import create_or_migrate


@pytest.fixture
def old_store(path):
    """A store of the current version, which later versions treat as an old one."""
    with Store.open(path) as store:
        session_id = store.begin(a_session(), a_suite()).id
        store.append(session_id, [a_run(a_suite().order)])
    return path


def version_of(path):
    connection = sqlite3.connect(path)
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    connection.close()
    return version


def test_a_store_of_a_newer_flakehound_is_left_alone(old_store):
    connection = sqlite3.connect(old_store)
    connection.execute("PRAGMA user_version=999")
    connection.close()
    before = old_store.read_bytes()

    with pytest.raises(StoreTooNew, match="version 999") as told:
        Store.open(old_store)

    assert told.value.remedy == "pip install --upgrade flakehound"
    assert old_store.read_bytes() == before


def test_an_older_store_is_migrated_step_by_step_and_keeps_its_runs(old_store):
    now = CURRENT.version
    later = Schema(
        version=now + 2,
        sql="",
        migrations={
            now: "ALTER TABLE run ADD COLUMN host TEXT; -- where\nCREATE TABLE host (\n    name TEXT\n);",
            now + 1: "INSERT INTO host VALUES ('here; there')",
        },
    )
    connection = connect(old_store)

    create_or_migrate(connection, old_store, create=False, schema=later)

    assert version_of(old_store) == now + 2
    assert connection.execute("SELECT name FROM host").fetchone()["name"] == "here; there"
    assert connection.execute("SELECT COUNT(host IS NULL) FROM run").fetchone()[0] == 1
    connection.close()


def test_a_migration_that_fails_leaves_the_store_as_it_was(old_store):
    now = CURRENT.version
    steps = {now: "CREATE TABLE host (name TEXT);\nSELECT nonsense FROM nothing;"}
    later = Schema(version=now + 1, sql="", migrations=steps)
    connection = connect(old_store)

    with pytest.raises(sqlite3.OperationalError):
        create_or_migrate(connection, old_store, create=False, schema=later)

    connection.close()
    assert version_of(old_store) == CURRENT.version
    with Store.open(old_store, create=False) as store:
        assert len(list(store.records(store.latest_hunt().id))) == 1


def test_a_version_that_no_migration_leads_on_from_is_an_error(old_store):
    connection = connect(old_store)

    now = CURRENT.version
    with pytest.raises(StoreBroken, match=f"no migration leads on from its version {now}"):
        create_or_migrate(connection, old_store, create=False, schema=Schema(version=now + 1, sql=""))

    connection.close()
    assert version_of(old_store) == CURRENT.version


def test_every_table_and_column_of_the_schema_has_a_comment():
    constraints = ("PRIMARY KEY", "UNIQUE", ")", "CREATE INDEX")
    meant = [line for line in CURRENT.sql.strip().splitlines() if not line.strip().startswith(constraints)]

    assert [line for line in meant if not re.search(r"-- \S", line)] == []
    assert len(meant) > 50
