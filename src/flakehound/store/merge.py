"""Copy the sessions and runs that only another store has."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from flakehound.store.calls import copy_calls
from flakehound.store.features import copy_measures, copy_source_features
from flakehound.store.shared_rows import SharedRows, insertion
from flakehound.store.states import copy_traces
from flakehound.store.writer import add_part, add_runs, next_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCount:
    """What a merge added; merging the same store again adds nothing."""

    sessions: int = 0  # new here
    completed: int = 0  # were here, and added_runs runs
    runs: int = 0


class Merger:
    """Copies from one connection to another, within the caller's transaction.

    Only one opening of one store ever adds to a part, so that the missing runs of a part are always its last ones.
    """

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self._source = source
        self._target = target
        self._shared_rows = SharedRows(target)
        self._parts: dict[int, int] = {}  # source id -> target id
        self._copies: dict[tuple[str, int], int] = {}  # table and source id -> target id
        self._run_id = next_run_id(target)

    def merge(self) -> MergeCount:
        """Copy everything that is missing, and count it."""
        sessions = completed = runs = 0
        for row in self._source.execute("SELECT * FROM session ORDER BY id").fetchall():
            target_id, is_new = self._session(row)
            added_runs = self._runs(row["id"], target_id)
            self._endings(row["id"], target_id)
            self._verdicts(row["id"], target_id)
            copy_source_features(self._source, self._target, row["id"], target_id)
            sessions += is_new
            completed += not is_new and added_runs > 0
            runs += added_runs
        return MergeCount(sessions=sessions, completed=completed, runs=runs)

    def _session(self, row: sqlite3.Row) -> tuple[int, bool]:
        here = self._target.execute("SELECT id FROM session WHERE uuid = ?", (row["uuid"],)).fetchone()
        if here:
            return here["id"], False
        columns = dict(row) | {"id": None, "suite": self._copied("suite", row["suite"])}
        added = self._target.execute(insertion("session", tuple(columns)), columns).lastrowid
        assert added is not None
        return added, True

    def _runs(self, source_id: int, target_id: int) -> int:
        known = {
            row["id"]: self._part(row, target_id)
            for row in self._source.execute("SELECT * FROM part WHERE session = ?", (source_id,)).fetchall()
        }
        added_runs = 0
        for row in self._source.execute("SELECT * FROM run WHERE session = ? ORDER BY id", (source_id,)):
            if known[row["part"]] > 0:
                known[row["part"]] -= 1
            else:
                self._run(row, target_id)
                added_runs += 1
        return added_runs

    def _part(self, row: sqlite3.Row, target_session: int) -> int:
        here = self._target.execute("SELECT id FROM part WHERE uuid = ?", (row["uuid"],)).fetchone()
        part = here["id"] if here else add_part(self._target, target_session, row["uuid"])
        self._parts[row["id"]] = part
        for stray in self._source.execute("SELECT * FROM stray WHERE part = ?", (row["id"],)):
            values = (part, stray["number"], stray["test"])
            self._target.execute("INSERT OR IGNORE INTO stray VALUES (?, ?, ?)", values)
        query = "SELECT COUNT(*) AS runs FROM run WHERE session = ? AND part = ?"
        return int(self._target.execute(query, (target_session, part)).fetchone()["runs"])

    def _run(self, row: sqlite3.Row, target_session: int) -> None:
        columns = dict(row) | {
            "id": self._run_id,
            "session": target_session,
            "part": self._parts[row["part"]],
            "why": self._copied("text", row["why"]),
            "ended": self._copied("text", row["ended"]),
            "stored_order": self._copied("stored_order", row["stored_order"]),
        }
        add_runs(self._target, [columns], self._failing(row["id"]))
        copy_calls(self._source, self._target, (row["id"], self._run_id), self._function)
        copy_measures(self._source, self._target, row["id"], self._run_id)
        copy_traces(self._source, self._target, row["id"], self._run_id)
        self._run_id += 1

    def _failing(self, source_run: int) -> list[dict[str, Any]]:
        rows = self._source.execute("SELECT * FROM failing WHERE run = ?", (source_run,)).fetchall()
        return [
            dict(row) | {"run": self._run_id, "failure": self._copied("failure", row["failure"])} for row in rows
        ]

    def _function(self, source_id: int) -> int:
        copied = self._copied("called_function", source_id)
        assert copied is not None
        return copied

    def _copied(self, table: str, source_id: int | None) -> int | None:
        if source_id is None:
            return None
        key = (table, source_id)
        if key not in self._copies:
            row = self._source.execute(f"SELECT * FROM {table} WHERE id = ?", (source_id,)).fetchone()
            part = {"part": self._parts[row["part"]]} if table == "stored_order" else {}
            self._copies[key] = self._shared_rows.copy(table, row, **part)
        return self._copies[key]

    def _endings(self, source_id: int, target_id: int) -> None:
        for row in self._source.execute("SELECT * FROM ending WHERE session = ?", (source_id,)):
            values = (target_id, row["ended_s"], row["note"])
            self._target.execute("INSERT OR IGNORE INTO ending VALUES (?, ?, ?)", values)

    def _verdicts(self, source_id: int, target_id: int) -> None:
        newest = "SELECT * FROM verdicts WHERE session = ? ORDER BY judged_s DESC, id DESC LIMIT 1"
        there = self._source.execute(newest, (source_id,)).fetchone()
        here = self._target.execute(newest, (target_id,)).fetchone()
        if there and (here is None or there["judged_s"] > here["judged_s"]):
            values = (target_id, there["judged_s"], there["payload"])
            self._target.execute("INSERT INTO verdicts (session, judged_s, payload) VALUES (?, ?, ?)", values)
