"""Read the runs of a session."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from flakehound.core.measurements import Measures
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Setting, Suite
from flakehound.core.records import Failure, RunRecord, Usage
from flakehound.core.state_changes import StateTrace
from flakehound.store.features import measures_between
from flakehound.store.packing import (
    ISOLATIONS,
    SETTING_CODES,
    SETTINGS,
    number_of_column,
    text_of_column,
    unpack_durations,
    unpack_order,
    unpack_outcomes,
    unpack_short_order,
)
from flakehound.store.run_reasons import reason_from
from flakehound.store.shared_rows import failure_from
from flakehound.store.states import traces_between

CHUNK = 256  # runs per query; between two queries writers can truncate the write-ahead log
MAX_PARAMETERS = 500  # of one query; SQLite before 3.32 allows at most 999

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class RunReader:
    """Reads the runs of one session. Equal orders, texts and failures become one object."""

    def __init__(self, connection: sqlite3.Connection, session_id: int, suite: Suite) -> None:
        self._connection = connection
        self._session_id = session_id
        self._suite_order = suite.order
        self._names: dict[int, Order] = {}  # by part: the tests of the suite, then those outside it
        self._orders: dict[int, Order] = {}
        self._short_orders: dict[Order, Order] = {}
        self._texts: dict[int, str] = {}
        self._failures: dict[int, Failure] = {}
        self._outcomes = lru_cache(maxsize=CHUNK)(unpack_outcomes)

    def chunks(self, table: str = "run") -> Iterator[list[RunRecord]]:
        """The runs in the order of appending, in chunks; all, or those that `table` refers to."""
        condition = "" if table == "run" else f"AND id IN (SELECT run FROM {table})"
        last_id = 0
        while rows := self._rows_after(last_id, condition):
            last_id = rows[-1]["id"]
            failures = self._failures_between(rows[0]["id"], last_id)
            measures = measures_between(self._connection, rows[0]["id"], last_id)
            traces = traces_between(self._connection, rows[0]["id"], last_id)
            yield [self._record(row, failures.get(row["id"], {}), measures, traces) for row in rows]

    def newest(self, setting: Setting) -> RunRecord | None:
        """The newest run of a setting, without failures and observations; None if there is none."""
        query = "SELECT * FROM run WHERE session = ? AND setting = ? ORDER BY id DESC LIMIT 1"
        row = self._connection.execute(query, (self._session_id, SETTING_CODES[setting])).fetchone()
        return self._record(row, {}, {}, {}) if row else None

    def _rows_after(self, last_id: int, condition: str) -> list[sqlite3.Row]:
        query = f"SELECT * FROM run WHERE session = ? AND id > ? {condition} ORDER BY id LIMIT ?"
        return self._connection.execute(query, (self._session_id, last_id, CHUNK)).fetchall()

    def _failures_between(self, first: int, last_id: int) -> dict[int, dict[int, Failure]]:
        query = """SELECT failing.* FROM failing JOIN run ON run.id = failing.run
                   WHERE failing.run BETWEEN ? AND ? AND run.session = ?"""
        failures_by_run: dict[int, dict[int, Failure]] = {}
        rows = self._connection.execute(query, (first, last_id, self._session_id)).fetchall()
        self._load_failures({row["failure"] for row in rows} - self._failures.keys())
        for row in rows:
            failures_by_run.setdefault(row["run"], {})[row["place"]] = self._failures[row["failure"]]
        return failures_by_run

    def _load_failures(self, missing_ids: set[int]) -> None:
        # Not one query per failure: there may be hundreds of thousands.
        ids = sorted(missing_ids)
        for start in range(0, len(ids), MAX_PARAMETERS):
            ids_of_query = ids[start : start + MAX_PARAMETERS]
            query = f"SELECT * FROM failure WHERE id IN ({', '.join('?' * len(ids_of_query))})"
            self._failures |= {
                row["id"]: failure_from(row) for row in self._connection.execute(query, ids_of_query)
            }

    def _record(
        self,
        row: sqlite3.Row,
        failures: dict[int, Failure],
        measures: dict[int, dict[int, Measures]],
        traces: dict[int, dict[int, StateTrace]],
    ) -> RunRecord:
        order = self._order(row)
        return RunRecord(
            id=row["id"],
            order=order,
            outcomes=self._outcomes(row["outcomes"], len(order)),
            durations_s=unpack_durations(row["durations"], len(order)),
            setting=SETTINGS[row["setting"]],
            isolation=ISOLATIONS[row["isolation"]],
            disturbed=bool(row["disturbed"]),
            why=reason_from(_cached(self._texts, row["why"], self._text), order),
            ended="" if row["ended"] is None else _cached(self._texts, row["ended"], self._text),
            seed=number_of_column(row["seed"]),
            hash_seed=number_of_column(row["hash_seed"]),
            started_s=row["started_s"],
            usage=Usage(wall_s=row["wall_s"], cpu_s=row["cpu_s"], max_rss_bytes=row["max_rss_bytes"]),
            failures=failures,
            measures=measures.get(row["id"], {}),
            state_traces=traces.get(row["id"], {}),
        )

    def _order(self, row: sqlite3.Row) -> Order:
        if row["short_order"] is not None:
            numbers = unpack_short_order(row["short_order"], len(row["outcomes"]))
            order = self._tests_of(numbers, row["part"])
            return self._short_orders.setdefault(order, order)
        if row["stored_order"] is not None:
            return _cached(self._orders, row["stored_order"], self._stored_order)
        return self._suite_order

    def _stored_order(self, order_id: int) -> Order:
        query = "SELECT part, numbers FROM stored_order WHERE id = ?"
        row = self._connection.execute(query, (order_id,)).fetchone()
        return self._tests_of(unpack_order(row["numbers"]), row["part"])

    def _tests_of(self, numbers: Sequence[int], part: int) -> Order:
        names = self._names.get(part, self._suite_order)
        if max(numbers, default=-1) >= len(names):
            names = self._names[part] = self._suite_order + self._strays(part)
        return tuple(map(names.__getitem__, numbers))

    def _strays(self, part: int) -> Order:
        rows = self._connection.execute("SELECT test FROM stray WHERE part = ? ORDER BY number", (part,))
        return tuple(NodeId(text_of_column(row["test"])) for row in rows)

    def _text(self, text_id: int) -> str:
        row = self._connection.execute("SELECT content FROM text WHERE id = ?", (text_id,)).fetchone()
        return text_of_column(row["content"])


def _cached(cache: dict[_Key, _Value], key: _Key, fetch: Callable[[_Key], _Value]) -> _Value:
    if key not in cache:
        cache[key] = fetch(key)
    return cache[key]
