"""The calls of tests as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping

from flakehound.core.calls import PHASES, CallTrace
from flakehound.core.outcomes import NodeId

COLUMNS = ("id", "phase", "file", "class", "function", "kind", "count")


def calls_csv(traces: Mapping[NodeId, CallTrace]) -> str:
    """One row per test, phase and function; the count is empty where calls were not counted.

    Processes that a test started have the kind `process` and their command as the function.
    """
    sheet = io.StringIO(newline="")
    writer = csv.DictWriter(sheet, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for test, trace in traces.items():
        writer.writerows(_rows(test, trace))
    return sheet.getvalue()


def _rows(test: NodeId, trace: CallTrace) -> Iterator[dict[str, object]]:
    for phase in PHASES:
        for function, count in trace.calls.get(phase, {}).items():
            yield {
                "id": test,
                "phase": phase,
                "file": function.file,
                "class": function.owner,
                "function": function.name,
                "kind": function.kind,
                "count": count or "",
            }
    for phase, command in dict.fromkeys(trace.children):
        times = trace.children.count((phase, command))
        yield {"id": test, "phase": phase, "function": command, "kind": "process", "count": times}
