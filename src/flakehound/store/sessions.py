"""The table of sessions; a session is one hunt, trace or measurement, or one plain pytest run, of one commit."""

from __future__ import annotations

import sqlite3
import time
import uuid
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from flakehound.core.plans import Isolation, Suite
from flakehound.store.packing import (
    ISOLATION_CODES,
    ISOLATIONS,
    decode_text,
    encode_text,
    number_column,
    text_column,
    text_of_column,
)
from flakehound.store.session_settings import SessionCommand, SessionSettings, settings_from_json, settings_json
from flakehound.store.shared_rows import SharedRows, insert_statement, suite_from


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionInfo:
    """The suite of a session, the state of its code, and how it was started."""

    rootdir: str
    python: str  # version
    pytest: str  # version
    commit: str | None = None  # None: not a checkout, or not known
    base_seed: int
    started_s: float  # seconds since 1970
    settings: SessionSettings = field(default_factory=SessionSettings)
    isolation: Isolation = Isolation.FORK
    id: int | None = None  # given by the store; differs between merged stores
    uuid: str | None = None  # given by the store; the same in every store it is merged into

    @property
    def is_hunt(self) -> bool:
        """Whether it is a hunt."""
        return self.settings.command is SessionCommand.HUNT

    @property
    def is_plain(self) -> bool:
        """Whether it is a pytest run of the user with our plugin."""
        return self.settings.command is SessionCommand.PYTEST


def add_session(connection: sqlite3.Connection, info: SessionInfo, suite: Suite) -> SessionInfo:
    """Add a session; returns it with its id."""
    new_info = replace(info, uuid=uuid.uuid4().hex)
    columns = _columns(new_info) | {"suite": SharedRows(connection).suite(suite)}
    row = connection.execute(insert_statement("session", tuple(columns)), columns)
    return replace(new_info, id=row.lastrowid)


def _columns(info: SessionInfo) -> dict[str, str | bytes | int | float | None]:
    return {
        "uuid": info.uuid,
        "rootdir": text_column(info.rootdir),
        "python": text_column(info.python),
        "pytest": text_column(info.pytest),
        "commit_id": None if info.commit is None else text_column(info.commit),
        "base_seed": number_column(info.base_seed),
        "started_s": info.started_s,
        "options": text_column(settings_json(info.settings)),
        "isolation": ISOLATION_CODES[info.isolation],
    }


def session_from(row: sqlite3.Row) -> SessionInfo:
    """The session of a row."""
    return SessionInfo(
        id=row["id"],
        uuid=row["uuid"],
        rootdir=text_of_column(row["rootdir"]),
        python=text_of_column(row["python"]),
        pytest=text_of_column(row["pytest"]),
        commit=None if row["commit_id"] is None else text_of_column(row["commit_id"]),
        base_seed=int(row["base_seed"]),
        started_s=row["started_s"],
        settings=settings_from_json(text_of_column(row["options"])),
        isolation=ISOLATIONS[row["isolation"]],
    )


def all_sessions(connection: sqlite3.Connection) -> list[SessionInfo]:
    """Every session, oldest first."""
    return [session_from(row) for row in connection.execute("SELECT * FROM session ORDER BY started_s, id")]


def newest_first(connection: sqlite3.Connection, rootdir: str | None) -> Iterator[SessionInfo]:
    """Sessions of one rootdir or of all, the one that started last first."""
    query = """SELECT * FROM session WHERE :rootdir IS NULL OR rootdir = :rootdir
               ORDER BY started_s DESC, id DESC"""
    parameters = {"rootdir": None if rootdir is None else text_column(rootdir)}
    return map(session_from, connection.execute(query, parameters))


def has_session(connection: sqlite3.Connection, session_id: int) -> bool:
    """Whether there is such a session."""
    return connection.execute("SELECT 1 FROM session WHERE id = ?", (session_id,)).fetchone() is not None


def suite_of(connection: sqlite3.Connection, session_id: int) -> Suite | None:
    """The suite of a session; None when there is no such session."""
    query = "SELECT tests FROM suite JOIN session ON session.suite = suite.id WHERE session.id = ?"
    row = connection.execute(query, (session_id,)).fetchone()
    return suite_from(row) if row else None


def add_ending(connection: sqlite3.Connection, session_id: int, note: str) -> None:
    """Add the ending of a session."""
    values = (session_id, time.time(), text_column(note))
    # A coarse clock can give the same time twice.
    connection.execute("INSERT OR IGNORE INTO ending VALUES (?, ?, ?)", values)


def has_ending(connection: sqlite3.Connection, session_id: int) -> bool:
    """Whether the session has an ending."""
    query = "SELECT 1 FROM ending WHERE session = ? LIMIT 1"
    return connection.execute(query, (session_id,)).fetchone() is not None


def ending_notes(connection: sqlite3.Connection, session_id: int) -> list[str]:
    """The notes of all endings of a session, oldest first."""
    query = "SELECT note FROM ending WHERE session = ? ORDER BY ended_s"
    return [text_of_column(row["note"]) for row in connection.execute(query, (session_id,))]


def replace_report(connection: sqlite3.Connection, session_id: int, payload_json: str) -> None:
    """Replace the report of a session."""
    payload = zlib.compress(encode_text(payload_json))
    connection.execute("DELETE FROM verdicts WHERE session = ?", (session_id,))
    connection.execute(
        "INSERT INTO verdicts (session, judged_s, payload) VALUES (?, ?, ?)",
        (session_id, time.time(), payload),
    )


def newest_report(connection: sqlite3.Connection, session_id: int) -> str | None:
    """The newest report; None if there is none."""
    query = "SELECT payload FROM verdicts WHERE session = ? ORDER BY judged_s DESC, id DESC LIMIT 1"
    row = connection.execute(query, (session_id,)).fetchone()
    return decode_text(zlib.decompress(row["payload"])) if row else None
