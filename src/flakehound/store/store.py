"""The store as the rest of flakehound sees it."""

from __future__ import annotations

import itertools
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import TracebackType

from flakehound.core.plans import Suite
from flakehound.core.records import RunRecord
from flakehound.store import features, sessions
from flakehound.store.calls import calls_of
from flakehound.store.connection import errors_told, snapshot, transaction
from flakehound.store.errors import NoSuchSession
from flakehound.store.merge import MergeCount, Merger
from flakehound.store.opening import check_whole, opened
from flakehound.store.reader import RunReader
from flakehound.store.sessions import SessionInfo
from flakehound.store.writer import RunWriter


class Store:
    """One open store. Facts are added, never changed; processes may share the file."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection
        self._writers: dict[int, RunWriter] = {}

    @classmethod
    def open(cls, path: Path, *, create: bool = True) -> Store:
        """Open the store at `path`; a folder made for it is hidden from git."""
        return cls(path, opened(path, create=create))

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._connection.close()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def begin(self, info: SessionInfo, suite: Suite) -> SessionInfo:
        """Begin a session; it comes back with its id and uuid."""
        with errors_told(self.path), transaction(self._connection):
            return sessions.add_session(self._connection, info, suite)

    def append(self, session_id: int, records: Sequence[RunRecord]) -> list[RunRecord]:
        """Write runs down, all or none; they come back with their ids, and outlive a killed process."""
        if not records:
            return []
        try:
            with errors_told(self.path), transaction(self._connection):
                ids = self._writer(session_id).append(records)
        except BaseException:
            # What it remembers having written was rolled back.
            self._writers.pop(session_id, None)
            raise
        return [replace(record, id=run_id) for record, run_id in zip(records, ids, strict=True)]

    def records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session in the order of appending; durations are right to 0.4 %."""
        return self._told_chunks(self._reader(session_id).chunks())

    def measured_records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session in which features were measured."""
        return self._told_chunks(self._reader(session_id).chunks("measured"))

    def _reader(self, session_id: int) -> RunReader:
        return RunReader(self._connection, session_id, self.suite(session_id))

    def traced_runs(self, session_id: int) -> set[int]:
        """The ids of the runs of a session that were traced."""
        query = "SELECT DISTINCT run FROM call_trace JOIN run ON run.id = call_trace.run WHERE session = ?"
        with errors_told(self.path):
            return {row["run"] for row in self._connection.execute(query, (session_id,))}

    def traced_records(self, session_id: int) -> Iterator[RunRecord]:
        """The runs of a session that were traced, with what their tests called."""
        with errors_told(self.path):
            traces = dict(calls_of(self._connection, session_id))
        for record in self._told_chunks(self._reader(session_id).chunks("call_trace")) if traces else ():
            if record.id in traces:
                yield replace(record, calls=traces[record.id])

    def _told_chunks(self, chunks: Iterator[list[RunRecord]]) -> Iterator[RunRecord]:
        while True:
            with errors_told(self.path):
                chunk = next(chunks, None)
            if chunk is None:
                return
            yield from chunk

    def sessions(self) -> list[SessionInfo]:
        """Every session, oldest first."""
        with errors_told(self.path):
            return sessions.all_sessions(self._connection)

    def latest(self, rootdir: str | None = None) -> SessionInfo | None:
        """The hunt that started last, of `rootdir` when one is named."""
        with errors_told(self.path):
            return next((info for info in sessions.newest_first(self._connection, rootdir) if info.is_hunt), None)

    def plain_runs(self, rootdir: str, most: int) -> list[SessionInfo]:
        """The latest pytest runs of `rootdir` that were looked on at, newest first."""
        with errors_told(self.path):
            runs = (info for info in sessions.newest_first(self._connection, rootdir) if info.is_plain)
            return list(itertools.islice(runs, most))

    def number_of_runs(self, session_id: int) -> int:
        """How many runs of a session are stored, of every purpose."""
        with errors_told(self.path):
            row = self._connection.execute("SELECT COUNT(*) AS runs FROM run WHERE session = ?", (session_id,))
            return int(row.fetchone()["runs"])

    def suite(self, session_id: int) -> Suite:
        """The tests a session hunts in."""
        with errors_told(self.path):
            suite = sessions.suite_of(self._connection, session_id)
        if suite is None:
            raise NoSuchSession(self.path, session_id)
        return suite

    def finish(self, session_id: int, note: str) -> None:
        """Write down that the hunt of a session came to its end, and why."""
        with errors_told(self.path), transaction(self._connection):
            self._check_session(session_id)
            sessions.add_ending(self._connection, session_id, note)

    def is_finished(self, session_id: int) -> bool:
        """Whether the hunt of a session ever came to its end."""
        with errors_told(self.path):
            return sessions.has_ending(self._connection, session_id)

    def save_report(self, session_id: int, payload_json: str) -> None:
        """Keep the newest report of a session, in place of an older one."""
        with errors_told(self.path), transaction(self._connection):
            self._check_session(session_id)
            sessions.replace_verdicts(self._connection, session_id, payload_json)

    def newest_report(self) -> str | None:
        """The report of the newest hunt that has one, as JSON."""
        hunts = (info.id for info in reversed(self.sessions()) if info.is_hunt and info.id is not None)
        return next((report for hunt in hunts if (report := self.verdicts(hunt)) is not None), None)

    def verdicts(self, session_id: int) -> str | None:
        """The newest report of a session as JSON, None when it was never judged."""
        with errors_told(self.path):
            return sessions.newest_verdicts(self._connection, session_id)

    def save_source_features(self, session_id: int, told: features.SourceFeatures) -> None:
        """Keep the features that the source of a session's tests tells."""
        with errors_told(self.path), transaction(self._connection):
            self._check_session(session_id)
            features.save_source_features(self._connection, session_id, told)

    def source_features(self, session_id: int) -> features.SourceFeatures:
        """The features that the source of a session's tests tells; empty where nobody looked."""
        with errors_told(self.path):
            return features.source_features(self._connection, session_id)

    def merge(self, other: Path) -> MergeCount:
        """Copy the sessions, and the runs of sessions known here, that only `other` has."""
        with Store.open(other, create=False) as there, snapshot(there._connection):
            # Ahead of the copying, whose errors could be either file's.
            check_whole(there._connection, other)
            with errors_told(self.path), transaction(self._connection):
                return Merger(there._connection, self._connection).merged()

    def _check_session(self, session_id: int) -> None:
        if not sessions.has_session(self._connection, session_id):
            raise NoSuchSession(self.path, session_id)

    def _writer(self, session_id: int) -> RunWriter:
        if session_id not in self._writers:
            writer = RunWriter(self._connection, session_id, self.suite(session_id))
            self._writers[session_id] = writer
        return self._writers[session_id]
