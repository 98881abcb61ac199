"""The sessions of a store: their suites, endings and reports."""

from __future__ import annotations

import itertools
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import TypeVar

from flakehound.core.plans import Suite
from flakehound.store import sessions
from flakehound.store.connection import transaction, translated_errors
from flakehound.store.errors import NoSuchSession
from flakehound.store.sessions import SessionInfo

AnyStore = TypeVar("AnyStore", bound="SessionStore")


class SessionStore:
    """The sessions of one open store; `Store` adds the methods for runs."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def __enter__(self: AnyStore) -> AnyStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; may be called twice."""
        self._connection.close()

    def begin(self, info: SessionInfo, suite: Suite) -> SessionInfo:
        """Begin a session; returns it with its id and uuid."""
        with translated_errors(self.path), transaction(self._connection):
            return sessions.add_session(self._connection, info, suite)

    def sessions(self) -> list[SessionInfo]:
        """Every session, oldest first."""
        with translated_errors(self.path):
            return sessions.all_sessions(self._connection)

    def latest_hunt(self, rootdir: str | None = None) -> SessionInfo | None:
        """The hunt that started last, of `rootdir` if given."""
        with translated_errors(self.path):
            return next((info for info in sessions.newest_first(self._connection, rootdir) if info.is_hunt), None)

    def hunts(self, rootdir: str) -> list[SessionInfo]:
        """The hunts of `rootdir`, the newest first."""
        with translated_errors(self.path):
            return [info for info in sessions.newest_first(self._connection, rootdir) if info.is_hunt]

    def plain_runs(self, rootdir: str, limit: int) -> list[SessionInfo]:
        """The latest plain pytest runs of `rootdir`, the newest first."""
        with translated_errors(self.path):
            runs = (info for info in sessions.newest_first(self._connection, rootdir) if info.is_plain)
            return list(itertools.islice(runs, limit))

    def suite(self, session_id: int) -> Suite:
        """The suite of a session."""
        with translated_errors(self.path):
            suite = sessions.suite_of(self._connection, session_id)
        if suite is None:
            raise NoSuchSession(self.path, session_id)
        return suite

    def finish(self, session_id: int, note: str) -> None:
        """Store that a session ended, and why."""
        with translated_errors(self.path), transaction(self._connection):
            self._check_session(session_id)
            sessions.add_ending(self._connection, session_id, note)

    def is_finished(self, session_id: int) -> bool:
        """Whether a session has ended."""
        with translated_errors(self.path):
            return sessions.has_ending(self._connection, session_id)

    def ending_notes(self, session_id: int) -> list[str]:
        """Why a session ended, each time that it did; oldest first."""
        with translated_errors(self.path):
            return sessions.ending_notes(self._connection, session_id)

    def save_report(self, session_id: int, payload_json: str) -> None:
        """Store the report of a session in place of an older one."""
        with translated_errors(self.path), transaction(self._connection):
            self._check_session(session_id)
            sessions.replace_report(self._connection, session_id, payload_json)

    def newest_report(self) -> str | None:
        """The report of the newest hunt that has one, as JSON."""
        hunts = (info.id for info in reversed(self.sessions()) if info.is_hunt and info.id is not None)
        return next((report for hunt in hunts if (report := self.report(hunt)) is not None), None)

    def report(self, session_id: int) -> str | None:
        """The report of a session as JSON; None before the session has ended."""
        with translated_errors(self.path):
            return sessions.newest_report(self._connection, session_id)

    def _check_session(self, session_id: int) -> None:
        if not sessions.has_session(self._connection, session_id):
            raise NoSuchSession(self.path, session_id)
