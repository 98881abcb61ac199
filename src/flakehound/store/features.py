"""The tables of features: those measured in runs, and those computed from the source."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterable, Mapping
from typing import Any

from flakehound.core.measurements import MEASURED_FEATURES, Measures
from flakehound.core.records import RunRecord
from flakehound.store.packing import decode_text, encode_text

TABLES = """\
CREATE TABLE measured (             -- a run in which the features of each test were measured
    run INTEGER PRIMARY KEY REFERENCES run (id), -- which
    features BLOB NOT NULL          -- zlib of JSON: {feature: [value per place of the order; null: unknown]}
);
CREATE TABLE of_source (            -- features that are computed from the source
    session INTEGER PRIMARY KEY REFERENCES session (id), -- of whose tests
    features BLOB NOT NULL          -- zlib of JSON: {test without parameters: {feature: value}}
);
"""

SourceFeatures = Mapping[str, Mapping[str, float | None]]
"""Values by test without parameters, then by feature."""


def add_measures(connection: sqlite3.Connection, runs: Iterable[tuple[int, RunRecord]]) -> None:
    """Store the measures of runs that have any."""
    rows = [(run_id, pack_json(_columns(record))) for run_id, record in runs if record.measures]
    connection.executemany("INSERT INTO measured VALUES (?, ?)", rows)


def _columns(record: RunRecord) -> dict[str, list[float | None]]:
    places = range(len(record.order))
    return {
        name: [getattr(record.measures[place], name) if place in record.measures else None for place in places]
        for name in MEASURED_FEATURES
    }


def measures_between(connection: sqlite3.Connection, first: int, last: int) -> dict[int, dict[int, Measures]]:
    """The measures of runs between two ids, by run, then by place."""
    query = "SELECT * FROM measured WHERE run BETWEEN ? AND ?"
    return {
        row["run"]: _measures(unpack_json(row["features"])) for row in connection.execute(query, (first, last))
    }


def _measures(columns: Mapping[str, list[float | None]]) -> dict[int, Measures]:
    measures = {}
    for place, values in enumerate(zip(*(columns[name] for name in MEASURED_FEATURES), strict=True)):
        if any(value is not None for value in values):
            measures[place] = Measures(**dict(zip(MEASURED_FEATURES, values, strict=True)))
    return measures


def save_source_features(connection: sqlite3.Connection, session_id: int, features: SourceFeatures) -> None:
    """Store the features of the source; replaces those stored before."""
    connection.execute("INSERT OR REPLACE INTO of_source VALUES (?, ?)", (session_id, pack_json(features)))


def source_features(connection: sqlite3.Connection, session_id: int) -> SourceFeatures:
    """The features of the source; empty if they were not computed."""
    row = connection.execute("SELECT features FROM of_source WHERE session = ?", (session_id,)).fetchone()
    features: SourceFeatures = unpack_json(row["features"]) if row else {}
    return features


def copy_measures(
    source: sqlite3.Connection, target: sqlite3.Connection, source_run: int, target_run: int
) -> None:
    """Copy the measures of one run to another store."""
    for row in source.execute("SELECT features FROM measured WHERE run = ?", (source_run,)):
        target.execute("INSERT INTO measured VALUES (?, ?)", (target_run, row["features"]))


def copy_source_features(
    source: sqlite3.Connection, target: sqlite3.Connection, source_session: int, target_session: int
) -> None:
    """Copy the features of the source to a store that has none yet."""
    for row in source.execute("SELECT features FROM of_source WHERE session = ?", (source_session,)):
        target.execute("INSERT OR IGNORE INTO of_source VALUES (?, ?)", (target_session, row["features"]))


def pack_json(content: object) -> bytes:
    """Compress content as JSON."""
    return zlib.compress(encode_text(json.dumps(content, separators=(",", ":"), ensure_ascii=False)))


def unpack_json(blob: bytes) -> Any:
    """The content of compressed JSON."""
    return json.loads(decode_text(zlib.decompress(blob)))
