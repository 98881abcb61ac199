"""The store as the rest of flakehound uses it: sessions and their runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from flakehound.core.plans import Setting
from flakehound.core.records import RunRecord
from flakehound.store import features
from flakehound.store.calls import calls_of
from flakehound.store.connection import snapshot, transaction, translated_errors
from flakehound.store.merge import MergeCount, Merger
from flakehound.store.opening import check_integrity, open_connection
from flakehound.store.reader import RunReader
from flakehound.store.session_store import SessionStore
from flakehound.store.writer import RunWriter


class Store(SessionStore):
    """One open store. Facts are added and never changed; several processes may share the file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        super().__init__(path, connection)
        self._writers: dict[int, RunWriter] = {}

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Store:
        """Open the store at `path`; git ignores a folder that is created for it."""
        return cls(path, open_connection(path, create=create))

    def append(self, session_id: int, records: Sequence[RunRecord]) -> list[RunRecord]:
        """Store runs, all or none; returns them with their ids. They survive a killed process."""
        if not records:
            return []
        try:
            with translated_errors(self.path), transaction(self._connection):
                ids = self._writer(session_id).append(records)
        except BaseException:
            # The writer caches ids of rows that were rolled back.
            self._writers.pop(session_id, None)
            raise
        return [replace(record, id=run_id) for record, run_id in zip(records, ids, strict=True)]

    def records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session in the order of appending; durations are exact to 0.4 %."""
        return self._flatten(self._reader(session_id).chunks())

    def newest_record(self, session_id: int, setting: Setting) -> RunRecord | None:
        """The newest run of a session in a setting, with outcomes and durations only; None if there is none."""
        with translated_errors(self.path):
            return self._reader(session_id).newest(setting)

    def measured_records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session in which features were measured."""
        return self._flatten(self._reader(session_id).chunks("measured"))

    def traced_runs(self, session_id: int) -> set[int]:
        """The ids of the runs of a session that were traced."""
        query = "SELECT DISTINCT run FROM call_trace JOIN run ON run.id = call_trace.run WHERE session = ?"
        with translated_errors(self.path):
            return {row["run"] for row in self._connection.execute(query, (session_id,))}

    def traced_records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session that were traced, with the calls of their tests."""
        with translated_errors(self.path):
            traces = dict(calls_of(self._connection, session_id))
        for record in self._flatten(self._reader(session_id).chunks("call_trace")) if traces else ():
            if record.id in traces:
                yield replace(record, calls=traces[record.id])

    def number_of_runs(self, session_id: int) -> int:
        """How many runs of a session are stored, including measured and traced ones."""
        with translated_errors(self.path):
            row = self._connection.execute("SELECT COUNT(*) AS runs FROM run WHERE session = ?", (session_id,))
            return int(row.fetchone()["runs"])

    def save_source_features(self, session_id: int, source: features.SourceFeatures) -> None:
        """Store the features that were computed from the source of a session's tests."""
        with translated_errors(self.path), transaction(self._connection):
            self._check_session(session_id)
            features.save_source_features(self._connection, session_id, source)

    def source_features(self, session_id: int) -> features.SourceFeatures:
        """The features that were computed from the source of a session's tests; empty if there are none."""
        with translated_errors(self.path):
            return features.source_features(self._connection, session_id)

    def merge(self, other: Path) -> MergeCount:
        """Copy the sessions, and the runs of existing sessions, that only `other` has."""
        with Store.open(other, create=False) as source, snapshot(source._connection):
            # First, because errors while copying could be about either file.
            check_integrity(source._connection, other)
            with translated_errors(self.path), transaction(self._connection):
                return Merger(source._connection, self._connection).merge()

    def _reader(self, session_id: int) -> RunReader:
        return RunReader(self._connection, session_id, self.suite(session_id))

    def _flatten(self, chunks: Iterator[list[RunRecord]]) -> Iterator[RunRecord]:
        while True:
            with translated_errors(self.path):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield from chunk

    def _writer(self, session_id: int) -> RunWriter:
        if session_id not in self._writers:
            writer = RunWriter(self._connection, session_id, self.suite(session_id))
            self._writers[session_id] = writer
        return self._writers[session_id]
