"""Copy the sessions and runs that only another store has."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from flakehound.store.calls import copy_calls
from flakehound.store.features import copy_measures, copy_source_features
from flakehound.store.shared_rows import SharedRows, insert_statement
from flakehound.store.states import copy_traces
from flakehound.store.writer import add_part, add_runs, next_run_id


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCount:
    """What a merge added; merging the same store again adds nothing."""

    sessions: int = 0  # that did not exist here
    completed: int = 0  # sessions that existed and got further runs
    runs: int = 0


class Merger:
    """Copies from one connection to another, within the caller's transaction.

    A part is written by only one opening of one store, so the runs of it that are missing here are its last ones.
    """

    def __init__(self, source: sqlite3.Connection, target: sqlite3.Connection) -> None:
        self._source = source
        self._target = target
        self._shared_rows = SharedRows(target)
        self._parts: dict[int, int] = {}  # target ids by source id
        self._copies: dict[tuple[str, int], int] = {}  # target ids by table and source id
        self._run_id = next_run_id(target)

    def merge(self) -> MergeCount:
        """Copy everything that is missing, and count it."""
        sessions = completed = runs = 0
        for row in self._source.execute("SELECT * FROM session ORDER BY id").fetchall():
            target_id, is_new = self._copy_session(row)
            added_runs = self._copy_runs(row["id"], target_id)
            self._copy_endings(row["id"], target_id)
            self._copy_report(row["id"], target_id)
            copy_source_features(self._source, self._target, row["id"], target_id)
            sessions += is_new
            completed += not is_new and added_runs > 0
            runs += added_runs
        return MergeCount(sessions=sessions, completed=completed, runs=runs)

    def _copy_session(self, row: sqlite3.Row) -> tuple[int, bool]:
        existing = self._target.execute("SELECT id FROM session WHERE uuid = ?", (row["uuid"],)).fetchone()
        if existing:
            return existing["id"], False
        columns = dict(row) | {"id": None, "suite": self._copy_row("suite", row["suite"])}
        target_id = self._target.execute(insert_statement("session", tuple(columns)), columns).lastrowid
        assert target_id is not None
        return target_id, True

    def _copy_runs(self, source_id: int, target_id: int) -> int:
        runs_left_to_skip = {
            row["id"]: self._copy_part(row, target_id)
            for row in self._source.execute("SELECT * FROM part WHERE session = ?", (source_id,)).fetchall()
        }
        added_runs = 0
        for row in self._source.execute("SELECT * FROM run WHERE session = ? ORDER BY id", (source_id,)):
            if runs_left_to_skip[row["part"]] > 0:
                runs_left_to_skip[row["part"]] -= 1
            else:
                self._copy_run(row, target_id)
                added_runs += 1
        return added_runs

    def _copy_part(self, row: sqlite3.Row, target_session: int) -> int:
        existing = self._target.execute("SELECT id FROM part WHERE uuid = ?", (row["uuid"],)).fetchone()
        part = existing["id"] if existing else add_part(self._target, target_session, row["uuid"])
        self._parts[row["id"]] = part
        for stray in self._source.execute("SELECT * FROM stray WHERE part = ?", (row["id"],)):
            values = (part, stray["number"], stray["test"])
            self._target.execute("INSERT OR IGNORE INTO stray VALUES (?, ?, ?)", values)
        query = "SELECT COUNT(*) AS runs FROM run WHERE session = ? AND part = ?"
        return int(self._target.execute(query, (target_session, part)).fetchone()["runs"])

    def _copy_run(self, row: sqlite3.Row, target_session: int) -> None:
        columns = dict(row) | {
            "id": self._run_id,
            "session": target_session,
            "part": self._parts[row["part"]],
            "why": self._copy_row("text", row["why"]),
            "ended": self._copy_row("text", row["ended"]),
            "stored_order": self._copy_row("stored_order", row["stored_order"]),
        }
        add_runs(self._target, [columns], self._failing_rows(row["id"]))
        copy_calls(self._source, self._target, (row["id"], self._run_id), self._copy_function)
        copy_measures(self._source, self._target, row["id"], self._run_id)
        copy_traces(self._source, self._target, row["id"], self._run_id)
        self._run_id += 1

    def _failing_rows(self, source_run: int) -> list[dict[str, Any]]:
        rows = self._source.execute("SELECT * FROM failing WHERE run = ?", (source_run,)).fetchall()
        return [
            dict(row) | {"run": self._run_id, "failure": self._copy_row("failure", row["failure"])} for row in rows
        ]

    def _copy_function(self, source_id: int) -> int:
        target_id = self._copy_row("called_function", source_id)
        assert target_id is not None
        return target_id

    def _copy_row(self, table: str, source_id: int | None) -> int | None:
        if source_id is None:
            return None
        key = (table, source_id)
        if key not in self._copies:
            row = self._source.execute(f"SELECT * FROM {table} WHERE id = ?", (source_id,)).fetchone()
            part = {"part": self._parts[row["part"]]} if table == "stored_order" else {}
            self._copies[key] = self._shared_rows.copy(table, row, **part)
        return self._copies[key]

    def _copy_endings(self, source_id: int, target_id: int) -> None:
        for row in self._source.execute("SELECT * FROM ending WHERE session = ?", (source_id,)):
            values = (target_id, row["ended_s"], row["note"])
            self._target.execute("INSERT OR IGNORE INTO ending VALUES (?, ?, ?)", values)

    def _copy_report(self, source_id: int, target_id: int) -> None:
        newest = "SELECT * FROM verdicts WHERE session = ? ORDER BY judged_s DESC, id DESC LIMIT 1"
        source_report = self._source.execute(newest, (source_id,)).fetchone()
        existing = self._target.execute(newest, (target_id,)).fetchone()
        if source_report and (existing is None or source_report["judged_s"] > existing["judged_s"]):
            values = (target_id, source_report["judged_s"], source_report["payload"])
            self._target.execute("INSERT INTO verdicts (session, judged_s, payload) VALUES (?, ?, ?)", values)
