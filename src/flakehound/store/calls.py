"""Write down what traced tests called, and read it back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from flakehound.core.calls import CallTrace, Function, Reached
from flakehound.store.packing import squeezed, text_of, unsqueezed
from flakehound.store.shared_rows import Interner

_INSERTION = "INSERT INTO call_trace (run, place, content) VALUES (?, ?, ?)"


def add_calls(
    connection: sqlite3.Connection, interner: Interner, run_id: int, traces: Mapping[int, CallTrace]
) -> None:
    """Write the traces of one run, within the caller's transaction."""
    rows = [(run_id, place, squeezed(json.dumps(_content(trace, interner)))) for place, trace in traces.items()]
    connection.executemany(_INSERTION, rows)


def copy_calls(
    source: sqlite3.Connection,
    target: sqlite3.Connection,
    runs: tuple[int, int],
    renumbered: Callable[[int], int],
) -> None:
    """Copy the traces of a run to a run of another store, where the functions have other ids."""
    source_run, target_run = runs
    for row in source.execute("SELECT place, content FROM call_trace WHERE run = ?", (source_run,)).fetchall():
        content = json.loads(unsqueezed(row["content"]))
        for book in content["calls"].values():
            book[0] = [renumbered(function) for function in book[0]]
        for reached in content["reached"]:
            reached[1] = renumbered(reached[1])
        target.execute(_INSERTION, (target_run, row["place"], squeezed(json.dumps(content))))


def calls_of(connection: sqlite3.Connection, session_id: int) -> Iterator[tuple[int, dict[int, CallTrace]]]:
    """The traced runs of a session, by their ids, each with its traces by place."""
    query = """SELECT call_trace.* FROM call_trace JOIN run ON run.id = call_trace.run
               WHERE run.session = ? ORDER BY call_trace.run, call_trace.place"""
    functions: dict[int, Function] = {}
    found: dict[int, dict[int, CallTrace]] = {}
    for row in connection.execute(query, (session_id,)).fetchall():
        content = json.loads(unsqueezed(row["content"]))
        _learn(connection, content, functions)
        found.setdefault(row["run"], {})[row["place"]] = _trace(content, functions)
    yield from found.items()


def _content(trace: CallTrace, interner: Interner) -> dict[str, Any]:
    calls: dict[str, Any] = {}
    for phase, book in trace.calls.items():
        numbers = [interner.function(function) for function in book]
        calls[phase] = [numbers, list(book.values())] if any(book.values()) else [numbers]
    return {
        "calls": calls,
        "reached": [
            [one.phase, interner.function(one.function), one.path, one.line, one.within] for one in trace.reached
        ],
        "children": trace.children,
        "notes": trace.notes,
    }


def _learn(connection: sqlite3.Connection, content: Mapping[str, Any], functions: dict[int, Function]) -> None:
    named = {number for book in content["calls"].values() for number in book[0]}
    named.update(reached[1] for reached in content["reached"])
    for number in named - functions.keys():
        row = connection.execute("SELECT * FROM called_function WHERE id = ?", (number,)).fetchone()
        functions[number] = Function(
            file=text_of(row["file"]), owner=text_of(row["owner"]), name=text_of(row["name"]), kind=row["kind"]
        )


def _trace(content: Mapping[str, Any], functions: Mapping[int, Function]) -> CallTrace:
    return CallTrace(
        calls={phase: _book(functions, *book) for phase, book in content["calls"].items()},
        reached=tuple(
            Reached(phase=phase, function=functions[number], path=path, line=line, within=within)
            for phase, number, path, line, within in content["reached"]
        ),
        children=tuple((phase, command) for phase, command in content["children"]),
        notes=tuple(content["notes"]),
    )


def _book(
    functions: Mapping[int, Function], numbers: list[int], counts: list[int] | None = None
) -> dict[Function, int]:
    return {functions[n]: count for n, count in zip(numbers, counts or [0] * len(numbers), strict=True)}
