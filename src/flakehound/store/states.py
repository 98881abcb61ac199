"""The table of state changes that tests left in their process."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable

from flakehound.core.records import RunRecord
from flakehound.core.state_changes import StateChange, StateTrace
from flakehound.store.features import pack_json, unpack_json

TABLES = """\
CREATE TABLE traces (               -- a run that recorded what each test leaves changed
    run INTEGER PRIMARY KEY REFERENCES run (id), -- which
    tests BLOB NOT NULL             -- zlib of JSON: {place: [[[how, kind, name]], [name mentioned] or null]}
);
"""


def add_traces(connection: sqlite3.Connection, runs: Iterable[tuple[int, RunRecord]]) -> None:
    """Store the state changes of the runs that compared states."""
    rows = [(run_id, pack_json(_content(record))) for run_id, record in runs if record.state_traces]
    connection.executemany("INSERT INTO traces VALUES (?, ?)", rows)


def _content(record: RunRecord) -> dict[int, list[object]]:
    return {
        place: [
            [[change.how, change.kind, change.name] for change in traces.left],
            None if traces.mentions is None else sorted(traces.mentions),
        ]
        for place, traces in record.state_traces.items()
    }


def traces_between(connection: sqlite3.Connection, first: int, last: int) -> dict[int, dict[int, StateTrace]]:
    """The traces of runs between two ids, by run, then by place."""
    query = "SELECT * FROM traces WHERE run BETWEEN ? AND ?"
    return {
        row["run"]: {int(place): _traces(*content) for place, content in unpack_json(row["tests"]).items()}
        for row in connection.execute(query, (first, last))
    }


def _traces(left: list[list[str]], mentions: list[str] | None) -> StateTrace:
    return StateTrace(
        left=tuple(StateChange(how=how, kind=kind, name=name) for how, kind, name in left),
        mentions=None if mentions is None else frozenset(mentions),
    )


def copy_traces(source: sqlite3.Connection, target: sqlite3.Connection, source_run: int, target_run: int) -> None:
    """Copy the state changes of one run to another store."""
    for row in source.execute("SELECT tests FROM traces WHERE run = ?", (source_run,)):
        target.execute("INSERT INTO traces VALUES (?, ?)", (target_run, row["tests"]))
