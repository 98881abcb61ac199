"""Rows that many other rows refer to; each content is stored once and found by its digest."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, replace

from flakehound.core.calls import Function
from flakehound.core.failure_signatures import signature_of
from flakehound.core.plans import CollectedTest, Suite
from flakehound.core.records import Failure
from flakehound.store.packing import (
    compress_text,
    decompress_text,
    digest_of,
    encode_text,
    text_column,
    text_of_column,
)

MAX_FAILURE_TEXT = 16_384  # characters of pytest's report of one failure
_Column = str | bytes | int


class SharedRows:
    """Finds or adds the row of a content. Not usable after a failed transaction: its cache is then wrong."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._row_ids: dict[tuple[str, _Column | None, bytes], int] = {}

    def suite(self, suite: Suite) -> int:
        """The row of a suite."""
        tests = json.dumps([asdict(test) for test in suite.tests], ensure_ascii=False)
        return self._row("suite", digest_of(encode_text(tests)), {"tests": compress_text(tests)})

    def text(self, content: str) -> int:
        """The row of a text."""
        return self._row("text", digest_of(encode_text(content)), {"content": text_column(content)})

    def order(self, part: int, numbers: bytes) -> int:
        """The row of a packed order; in another part the same numbers mean other tests."""
        return self._row("stored_order", digest_of(numbers), {"part": part, "numbers": numbers})

    def failure(self, failure: Failure) -> int:
        """The row of a failure."""
        shortened = replace(failure, text=shorten_middle(failure.text))
        fields = json.dumps(asdict(shortened), ensure_ascii=False, sort_keys=True)
        return self._row("failure", digest_of(encode_text(fields)), _failure_columns(shortened))

    def function(self, function: Function) -> int:
        """The row of a function that was called."""
        columns = {name: text_column(text) for name, text in asdict(function).items()}
        fields = json.dumps(list(asdict(function).values()), ensure_ascii=False)
        return self._row("called_function", digest_of(encode_text(fields)), columns)

    def copy(self, table: str, row: sqlite3.Row, **changes: _Column) -> int:
        """The row with the content of a row of another store."""
        columns = {name: value for name, value in dict(row).items() if name not in ("id", "digest")}
        return self._row(table, row["digest"], columns | changes)

    def _row(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int:
        key = (table, columns.get("part"), digest)
        if key not in self._row_ids:
            self._row_ids[key] = self._find_row(table, digest, columns) or self._add_row(table, digest, columns)
        return self._row_ids[key]

    def _find_row(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int | None:
        condition = " AND part = :part" if "part" in columns else ""
        query = f"SELECT id FROM {table} WHERE digest = :digest{condition}"
        row = self._connection.execute(query, {"digest": digest, **columns}).fetchone()
        return row["id"] if row else None

    def _add_row(self, table: str, digest: bytes, columns: Mapping[str, _Column]) -> int:
        all_columns = {"digest": digest, **columns}
        row = self._connection.execute(insert_statement(table, tuple(all_columns)), all_columns)
        assert row.lastrowid is not None
        return row.lastrowid


def insert_statement(table: str, columns: tuple[str, ...]) -> str:
    """The SQL that inserts one row, with a named parameter per column."""
    return f"INSERT INTO {table} ({', '.join(columns)}) VALUES (:{', :'.join(columns)})"


def suite_from(row: sqlite3.Row) -> Suite:
    """The suite of a row."""
    return Suite(tests=tuple(CollectedTest(**test) for test in json.loads(decompress_text(row["tests"]))))


def failure_from(row: sqlite3.Row) -> Failure:
    """The failure of a row."""
    return Failure(
        phase=text_of_column(row["phase"]),
        exception=text_of_column(row["exception"]),
        message=text_of_column(row["message"]),
        where=text_of_column(row["place"]),
        text=decompress_text(row["report"]),
    )


def shorten_middle(text: str) -> str:
    """The text, without its middle if it is too long: the test and the error are at its ends."""
    if len(text) <= MAX_FAILURE_TEXT:
        return text
    half = MAX_FAILURE_TEXT // 2 - 40
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters left out ...]\n{text[-half:]}"


def _failure_columns(failure: Failure) -> dict[str, _Column]:
    return {
        "signature": signature_of(failure),
        "phase": text_column(failure.phase),
        "exception": text_column(failure.exception),
        "message": text_column(failure.message),
        "place": text_column(failure.where),
        "report": compress_text(failure.text),
    }
