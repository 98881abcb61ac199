"""Adds runs to a session."""

from __future__ import annotations

import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.core.records import RunRecord
from flakehound.store.calls import add_calls
from flakehound.store.features import add_measures
from flakehound.store.packing import (
    ISOLATION_CODES,
    MAX_SHORT_ORDER,
    SETTING_CODES,
    number_column,
    pack_durations,
    pack_order,
    pack_outcomes,
    pack_short_order,
    text_column,
)
from flakehound.store.run_reasons import template_of
from flakehound.store.shared_rows import SharedRows, insert_statement
from flakehound.store.states import add_traces


class RunWriter:
    """Adds runs to one session, as one part of it. Not usable after a failed transaction."""

    def __init__(self, connection: sqlite3.Connection, session_id: int, suite: Suite) -> None:
        self._connection = connection
        self._session_id = session_id
        self._suite_order = suite.order
        self._numbers = {test: place for place, test in reversed(list(enumerate(suite.order)))}
        self._next_number = len(suite.order)
        self._shared_rows = SharedRows(connection)
        self._part: int | None = None

    def append(self, records: Sequence[RunRecord]) -> list[int]:
        """Add the runs within the caller's transaction; returns their ids."""
        first_id = next_run_id(self._connection)
        rows = [self._row(first_id + i, record) for i, record in enumerate(records)]
        failing = [row for i, record in enumerate(records) for row in self._failing(first_id + i, record)]
        add_runs(self._connection, rows, failing)
        for i, record in enumerate(records):
            add_calls(self._connection, self._shared_rows, first_id + i, record.calls)
        add_measures(self._connection, enumerate(records, first_id))
        add_traces(self._connection, enumerate(records, first_id))
        return list(range(first_id, first_id + len(records)))

    def _row(self, run_id: int, record: RunRecord) -> dict[str, Any]:
        _check_lengths(record)
        order_columns = self._order_columns(record.order)
        return order_columns | {
            "id": run_id,
            "session": self._session_id,
            "part": self._part_id(),
            "setting": SETTING_CODES[record.setting],
            "isolation": ISOLATION_CODES[record.isolation],
            "disturbed": int(record.disturbed),
            "why": self._shared_rows.text(template_of(record.why, record.order)),
            "ended": self._shared_rows.text(record.ended) if record.ended else None,
            "seed": number_column(record.seed),
            "hash_seed": number_column(record.hash_seed),
            "started_s": record.started_s,
            "wall_s": record.usage.wall_s,
            "cpu_s": record.usage.cpu_s,
            "max_rss_bytes": record.usage.max_rss_bytes,
            "outcomes": pack_outcomes(record.outcomes),
            "durations": pack_durations(record.durations_s),
        }

    def _order_columns(self, order: Order) -> dict[str, Any]:
        if order == self._suite_order:
            return {"short_order": None, "stored_order": None}
        numbers = [self._number(test) for test in order]
        if len(numbers) <= MAX_SHORT_ORDER:
            return {"short_order": pack_short_order(numbers), "stored_order": None}
        return {
            "short_order": None,
            "stored_order": self._shared_rows.order(self._part_id(), pack_order(numbers)),
        }

    def _number(self, test: NodeId) -> int:
        if test not in self._numbers:
            values = (self._part_id(), self._next_number, text_column(test))
            self._connection.execute("INSERT INTO stray VALUES (?, ?, ?)", values)
            self._numbers[test] = self._next_number
            self._next_number += 1
        return self._numbers[test]

    def _part_id(self) -> int:
        if self._part is None:
            self._part = add_part(self._connection, self._session_id, uuid.uuid4().hex)
        return self._part

    def _failing(self, run_id: int, record: RunRecord) -> Iterator[dict[str, int]]:
        for place, failure in record.failures.items():
            yield {"run": run_id, "place": place, "failure": self._shared_rows.failure(failure)}


def add_part(connection: sqlite3.Connection, session_id: int, part_uuid: str) -> int:
    """Add a part to a session."""
    row = connection.execute("INSERT INTO part (session, uuid) VALUES (?, ?)", (session_id, part_uuid))
    assert row.lastrowid is not None
    return row.lastrowid


def next_run_id(connection: sqlite3.Connection) -> int:
    """The id after the last one; valid only within a transaction."""
    row = connection.execute("SELECT COALESCE(MAX(id), 0) + 1 AS free FROM run").fetchone()
    return int(row["free"])


def add_runs(
    connection: sqlite3.Connection, rows: Sequence[Mapping[str, Any]], failing: Sequence[Mapping[str, Any]]
) -> None:
    """Insert rows of runs, and of the tests that failed in them."""
    if rows:
        connection.executemany(insert_statement("run", tuple(rows[0])), rows)
    if failing:
        connection.executemany(insert_statement("failing", tuple(failing[0])), failing)


def _check_lengths(record: RunRecord) -> None:
    lengths = {len(record.order), len(record.outcomes), len(record.durations_s)}
    if len(lengths) > 1:
        raise ValueError(f"order, outcomes and durations of a run differ in length: {sorted(lengths)}")
