"""Rows that many others refer to, stored once each and found again by the digest of their content."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, replace

from flakehound.core.calls import Function
from flakehound.core.failure_signatures import signature_of
from flakehound.core.plans import CollectedTest, Suite
from flakehound.core.records import Failure
from flakehound.store.packing import column_of, compressed, decompressed, digest_of, encoded, text_of

MAX_FAILURE_TEXT = 16_384  # characters of pytest's report of one failure
_Column = str | bytes | int


class SharedRows:
    """Finds or adds the row of a content. Useless after a failed transaction, which takes the new rows back."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[tuple[str, _Column | None, bytes], int] = {}

    def suite(self, suite: Suite) -> int:
        """The row of a suite."""
        tests = json.dumps([asdict(test) for test in suite.tests], ensure_ascii=False)
        return self._row("suite", digest_of(encoded(tests)), {"tests": compressed(tests)})

    def text(self, content: str) -> int:
        """The row of a text."""
        return self._row("text", digest_of(encoded(content)), {"content": column_of(content)})

    def order(self, part: int, numbers: bytes) -> int:
        """The row of a packed order; the same numbers mean other tests in another part."""
        return self._row("stored_order", digest_of(numbers), {"part": part, "numbers": numbers})

    def failure(self, failure: Failure) -> int:
        """The row of a failure."""
        stored = replace(failure, text=bounded(failure.text))
        fields = json.dumps(asdict(stored), ensure_ascii=False, sort_keys=True)
        return self._row("failure", digest_of(encoded(fields)), _failure_columns(stored))

    def function(self, function: Function) -> int:
        """The row of a function that was called."""
        columns = {name: column_of(text) for name, text in asdict(function).items()}
        fields = json.dumps(list(asdict(function).values()), ensure_ascii=False)
        return self._row("called_function", digest_of(encoded(fields)), columns)

    def copy(self, table: str, row: sqlite3.Row, **changes: _Column) -> int:
        """The row with the content of a row of another store."""
        columns = {name: value for name, value in dict(row).items() if name not in ("id", "digest")}
        return self._row(table, row["digest"], columns | changes)

    def _row(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int:
        key = (table, columns.get("part"), digest)
        if key not in self._known:
            self._known[key] = self._found(table, digest, columns) or self._added(table, digest, columns)
        return self._known[key]

    def _found(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int | None:
        within = " AND part = :part" if "part" in columns else ""
        query = f"SELECT id FROM {table} WHERE digest = :digest{within}"
        row = self._connection.execute(query, {"digest": digest, **columns}).fetchone()
        return row["id"] if row else None

    def _added(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int:
        named = {"digest": digest, **columns}
        row = self._connection.execute(insertion(table, tuple(named)), named)
        assert row.lastrowid is not None
        return row.lastrowid


def insertion(table: str, columns: tuple[str, ...]) -> str:
    """The INSERT of one row, each column a named parameter."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"


def suite_from(row: sqlite3.Row) -> Suite:
    """The suite a row of its table holds."""
    return Suite(tests=tuple(CollectedTest(**test) for test in json.loads(decompressed(row["tests"]))))


def failure_from(row: sqlite3.Row) -> Failure:
    """The failure a row of its table holds."""
    return Failure(
        phase=text_of(row["phase"]),
        exception=text_of(row["exception"]),
        message=text_of(row["message"]),
        where=text_of(row["place"]),
        text=decompressed(row["report"]),
    )


def bounded(text: str) -> str:
    """The text, without its middle when it is too long: the test and the error are at the ends."""
    if len(text) <= MAX_FAILURE_TEXT:
        return text
    half = MAX_FAILURE_TEXT // 2 - 40
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _failure_columns(failure: Failure) -> dict[str, _Column]:
    return {
        "signature": signature_of(failure),
        "phase": column_of(failure.phase),
        "exception": column_of(failure.exception),
        "message": column_of(failure.message),
        "place": column_of(failure.where),
        "report": compressed(failure.text),
    }
