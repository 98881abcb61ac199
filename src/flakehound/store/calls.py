"""Write and read the tables of calls that traced tests made."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flakehound.core.calls import CallSite, CallTrace, Function
from flakehound.store.packing import compress_text, decompress_text, text_of_column
from flakehound.store.shared_rows import SharedRows

_INSERTION = "INSERT INTO call_trace (run, place, content) VALUES (?, ?, ?)"


def add_calls(
    connection: sqlite3.Connection, shared_rows: SharedRows, run_id: int, traces: Mapping[int, CallTrace]
) -> None:
    """Store the traces of one run within the caller's transaction."""
    rows = [
        (run_id, place, compress_text(json.dumps(_content(trace, shared_rows)))) for place, trace in traces.items()
    ]
    connection.executemany(_INSERTION, rows)


def copy_calls(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    runs: tuple[int, int],
    new_function_id: Callable[[int], int],
) -> None:
    """Copy the traces of a run to a run of another store, in which functions have other ids."""
    source_run, target_run = runs
    for row in source.execute("SELECT place, content FROM call_trace WHERE run = ?", (source_run,)).fetchall():
        content = json.loads(decompress_text(row["content"]))
        for numbers_and_counts in content["calls"].values():
            numbers_and_counts[0] = [new_function_id(number) for number in numbers_and_counts[0]]
        for reached in content["reached"]:
            reached[1] = new_function_id(reached[1])
        target.execute(_INSERTION, (target_run, row["place"], compress_text(json.dumps(content))))


def calls_of(connection: sqlite3.Connection, session_id: int) -> Iterator[tuple[int, dict[int, CallTrace]]]:
    """The traced runs of a session, by their ids, each with its traces by place."""
    query = """SELECT call_trace.* FROM call_trace JOIN run ON run.id = call_trace.run
               WHERE run.session = ? ORDER BY call_trace.run, call_trace.place"""
    functions: dict[int, Function] = {}
    traces_by_run: dict[int, dict[int, CallTrace]] = {}
    for row in connection.execute(query, (session_id,)).fetchall():
        content = json.loads(decompress_text(row["content"]))
        _load_functions(connection, content, functions)
        traces_by_run.setdefault(row["run"], {})[row["place"]] = _trace(content, functions)
    yield from traces_by_run.items()


def _content(trace: CallTrace, shared_rows: SharedRows) -> dict[str, Any]:
    calls: dict[str, Any] = {}
    for phase, counts in trace.calls.items():
        numbers = [shared_rows.function(function) for function in counts]
        calls[phase] = [numbers, list(counts.values())] if any(counts.values()) else [numbers]
    return {
        "calls": calls,
        "reached": [
            [site.phase, shared_rows.function(site.function), site.path, site.line, site.caller]
            for site in trace.call_sites
        ],
        "children": trace.children,
        "notes": trace.notes,
    }


def _load_functions(
    connection: sqlite3.Connection, content: Mapping[str, Any], functions: dict[int, Function]
) -> None:
    function_ids = {number for numbers, *_counts in content["calls"].values() for number in numbers}
    function_ids.update(reached[1] for reached in content["reached"])
    for number in function_ids - functions.keys():
        row = connection.execute("SELECT * FROM called_function WHERE id = ?", (number,)).fetchone()
        functions[number] = Function(
            file=text_of_column(row["file"]),
            owner=text_of_column(row["owner"]),
            name=text_of_column(row["name"]),
            kind=row["kind"],
        )


def _trace(content: Mapping[str, Any], functions: Mapping[int, Function]) -> CallTrace:
    return CallTrace(
        calls={phase: _counts(functions, *stored_counts) for phase, stored_counts in content["calls"].items()},
        call_sites=tuple(
            CallSite(phase=phase, function=functions[number], path=path, line=line, caller=caller)
            for phase, number, path, line, caller in content["reached"]
        ),
        children=tuple((phase, command) for phase, command in content["children"]),
        notes=tuple(content["notes"]),
    )


def _counts(
    functions: Mapping[int, Function], numbers: list[int], counts: list[int] | None = None
) -> dict[Function, int]:
    return {functions[n]: count for n, count in zip(numbers, counts or [0] * len(numbers), strict=True)}
