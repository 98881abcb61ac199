"""The tables of features: measured in a run, or given by the source of a session's tests."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from flakehound.core.measurements import MEASURED, Measures
from flakehound.core.records import RunRecord
from flakehound.store.packing import decoded, encoded

TABLES = """\
CREATE TABLE measured (             -- a run in which the features of each test were measured
    run INTEGER PRIMARY KEY REFERENCES run (id), -- which
    features BLOB NOT NULL          -- zlib of JSON: {feature: [value per place of the order; null: unknown]}
);
CREATE TABLE of_source (            -- features that the source alone tells
    session INTEGER PRIMARY KEY REFERENCES session (id), -- of whose tests
    features BLOB NOT NULL          -- zlib of JSON: {test without parameters: {feature: value}}
);
"""

SourceFeatures = Mapping[str, Mapping[str, float | None]]
"""Test without parameters -> feature -> value."""


def add_measures(connection: sqlite3.Connection, runs: Iterable[tuple[int, RunRecord]]) -> None:
    """Store what measured runs measured."""
    rows = [(run_id, packed(_columns(record))) for run_id, record in runs if record.measures]
    connection.executemany("INSERT INTO measured VALUES (?, ?)", rows)


def _columns(record: RunRecord) -> dict[str, list[float | None]]:
    places = range(len(record.order))
    return {
        name: [getattr(record.measures[place], name) if place in record.measures else None for place in places]
        for name in MEASURED
    }


def measures_between(connection: sqlite3.Connection, first: int, last: int) -> dict[int, dict[int, Measures]]:
    """Run -> place -> measures, of the measured runs between two ids."""
    query = "SELECT * FROM measured WHERE run BETWEEN ? AND ?"
    return {row["run"]: _measures(unpacked(row["features"])) for row in connection.execute(query, (first, last))}


def _measures(columns: Mapping[str, list[float | None]]) -> dict[int, Measures]:
    found = {}
    for place, values in enumerate(zip(*(columns[name] for name in MEASURED), strict=True)):
        if any(value is not None for value in values):
            found[place] = Measures(**dict(zip(MEASURED, values, strict=True)))
    return found


def save_source_features(connection: sqlite3.Connection, session_id: int, features: SourceFeatures) -> None:
    """Store the features of the source, in place of those that were stored before."""
    connection.execute("INSERT OR REPLACE INTO of_source VALUES (?, ?)", (session_id, packed(features)))


def source_features(connection: sqlite3.Connection, session_id: int) -> SourceFeatures:
    """The features of the source; empty where they were not measured."""
    row = connection.execute("SELECT features FROM of_source WHERE session = ?", (session_id,)).fetchone()
    found: SourceFeatures = unpacked(row["features"]) if row else {}
    return found


def copy_measures(
    source: sqlite3.Connection, target: sqlite3.Connection, source_run: int, target_run: int
) -> None:
    """Copy what one run measured to another store."""
    for row in source.execute("SELECT features FROM measured WHERE run = ?", (source_run,)):
        target.execute("INSERT INTO measured VALUES (?, ?)", (target_run, row["features"]))


def copy_source_features(
    source: sqlite3.Connection, target: sqlite3.Connection, source_session: int, target_session: int
) -> None:
    """Copy the features of the source to a store that has none yet."""
    for row in source.execute("SELECT features FROM of_source WHERE session = ?", (source_session,)):
        target.execute("INSERT OR IGNORE INTO of_source VALUES (?, ?)", (target_session, row["features"]))


def packed(content: object) -> bytes:
    """JSON, compressed."""
    return zlib.compress(encoded(json.dumps(content, separators=(",", ":"), ensure_ascii=False)))


def unpacked(blob: bytes) -> Any:
    """The content that was packed."""
    return json.loads(decoded(zlib.decompress(blob)))
