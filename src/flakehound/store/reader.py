"""Read runs back."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import TypeVar

from flakehound.core.measurements import Measures
from flakehound.core.outcomes import NodeId
from flakehound.core.plans import Order, Suite
from flakehound.core.records import Failure, RunRecord, Usage
from flakehound.core.state_changes import Traces
from flakehound.store.features import measures_between
from flakehound.store.packing import (
    ISOLATIONS,
    SETTINGS,
    number_of,
    text_of,
    unpack_durations,
    unpack_order,
    unpack_outcomes,
    unpack_short_order,
)
from flakehound.store.run_reasons import reason_from
from flakehound.store.shared_rows import failure_from
from flakehound.store.states import traces_between

CHUNK = 256  # runs read at once; no read lock is held between two chunks, so writers can tidy their log
MOST_PARAMETERS = 500  # of one query; SQLite before 3.32 takes no more than 999

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")


class RunReader:
    """Reads one session once. Equal orders, texts and failures come back as one object."""

    def __init__(self, connection: sqlite3.Connection, session_id: int, suite: Suite) -> None:
        self._connection = connection
        self._session_id = session_id
        self._suite_order = suite.order
        self._names: dict[int, Order] = {}  # by part: the suite's tests, then the part's strays
        self._orders: dict[int, Order] = {}
        self._short_orders: dict[Order, Order] = {}
        self._texts: dict[int, str] = {}
        self._failures: dict[int, Failure] = {}
        self._outcomes = lru_cache(maxsize=CHUNK)(unpack_outcomes)

    def chunks(self, named_in: str = "run") -> Iterator[list[RunRecord]]:
        """The runs in the order of appending, some at a time; all, or those that another table has rows of."""
        which = "" if named_in == "run" else f"AND id IN (SELECT run FROM {named_in})"
        last = 0
        while rows := self._rows_after(last, which):
            last = rows[-1]["id"]
            failures = self._failures_between(rows[0]["id"], last)
            measures = measures_between(self._connection, rows[0]["id"], last)
            traces = traces_between(self._connection, rows[0]["id"], last)
            yield [self._record(row, failures.get(row["id"], {}), measures, traces) for row in rows]

    def _rows_after(self, last: int, which: str) -> list[sqlite3.Row]:
        query = f"SELECT * FROM run WHERE session = ? AND id > ? {which} ORDER BY id LIMIT ?"
        return self._connection.execute(query, (self._session_id, last, CHUNK)).fetchall()

    def _failures_between(self, first: int, last: int) -> dict[int, dict[int, Failure]]:
        query = """SELECT failing.* FROM failing JOIN run ON run.id = failing.run
                   WHERE failing.run BETWEEN ? AND ? AND run.session = ?"""
        found: dict[int, dict[int, Failure]] = {}
        rows = self._connection.execute(query, (first, last, self._session_id)).fetchall()
        self._load_failures({row["failure"] for row in rows} - self._failures.keys())
        for row in rows:
            found.setdefault(row["run"], {})[row["place"]] = self._failures[row["failure"]]
        return found

    def _load_failures(self, unknown: set[int]) -> None:
        # Not one query per failure: a suite where much fails has hundreds of thousands of them.
        ids = sorted(unknown)
        for start in range(0, len(ids), MOST_PARAMETERS):
            some = ids[start : start + MOST_PARAMETERS]
            query = f"SELECT * FROM failure WHERE id IN ({', '.join('?' * len(some))})"
            self._failures |= {row["id"]: failure_from(row) for row in self._connection.execute(query, some)}

    def _record(
        self,
        row: sqlite3.Row,
        failures: dict[int, Failure],
        measures: dict[int, dict[int, Measures]],
        traces: dict[int, dict[int, Traces]],
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
            seed=number_of(row["seed"]),
            hash_seed=number_of(row["hash_seed"]),
            started_s=row["started_s"],
            usage=Usage(wall_s=row["wall_s"], cpu_s=row["cpu_s"], max_rss_bytes=row["max_rss_bytes"]),
            failures=failures,
            measures=measures.get(row["id"], {}),
            traces=traces.get(row["id"], {}),
        )

    def _order(self, row: sqlite3.Row) -> Order:
        if row["short_order"] is not None:
            numbers = unpack_short_order(row["short_order"], len(row["outcomes"]))
            order = self._named(numbers, row["part"])
            return self._short_orders.setdefault(order, order)
        if row["stored_order"] is not None:
            return _cached(self._orders, row["stored_order"], self._stored_order)
        return self._suite_order

    def _stored_order(self, order_id: int) -> Order:
        query = "SELECT part, numbers FROM stored_order WHERE id = ?"
        row = self._connection.execute(query, (order_id,)).fetchone()
        return self._named(unpack_order(row["numbers"]), row["part"])

    def _named(self, numbers: Sequence[int], part: int) -> Order:
        names = self._names.get(part, self._suite_order)
        if max(numbers, default=-1) >= len(names):
            names = self._names[part] = self._suite_order + self._strays(part)
        return tuple(map(names.__getitem__, numbers))

    def _strays(self, part: int) -> Order:
        rows = self._connection.execute("SELECT test FROM stray WHERE part = ? ORDER BY number", (part,))
        return tuple(NodeId(text_of(row["test"])) for row in rows)

    def _text(self, text_id: int) -> str:
        row = self._connection.execute("SELECT content FROM text WHERE id = ?", (text_id,)).fetchone()
        return text_of(row["content"])


def _cached(known: dict[_Key, _Value], key: _Key, fetched: Callable[[_Key], _Value]) -> _Value:
    if key not in known:
        known[key] = fetched(key)
    return known[key]
