"""The calls of tests as text and JSON: which causes of flakiness they suggest."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from flakehound.core.calls import CallTrace
from flakehound.core.outcomes import NodeId
from flakehound.core.verdicts import LikelyCause
from flakehound.report.formatting import counted

SCHEMA = "flakehound/calls/1"
_MAX_TESTS = 25
Causes = Mapping[NodeId, Sequence[LikelyCause]]


def calls_text(
    traces: Mapping[NodeId, CallTrace], causes: Causes, *, lost: int = 0, notes: Sequence[str] = ()
) -> str:
    """The tests with a likely cause, then the totals. No newline at the end."""
    marked = [test for test in traces if causes[test]]
    lines = [line for test in marked[:_MAX_TESTS] for line in _block(test, causes[test], traces[test])]
    if len(marked) > _MAX_TESTS:
        lines.append(f"... and {counted(len(marked) - _MAX_TESTS, 'more test')}; all with --csv or --json")
    return "\n".join([*lines, *_totals(traces, causes, lost), *(f"note: {note}" for note in notes)])


def _block(test: NodeId, causes: Sequence[LikelyCause], trace: CallTrace) -> Iterator[str]:
    yield test
    for likely in causes:
        yield f"    {likely.cause.value}: {likely.evidence}"
    for _phase, command in dict.fromkeys(trace.children):
        yield f"    starts: {command}"


def _totals(traces: Mapping[NodeId, CallTrace], causes: Causes, lost: int) -> Iterator[str]:
    functions = {function for trace in traces.values() for calls in trace.calls.values() for function in calls}
    marked = sum(bool(found) for found in causes.values())
    yield (
        f"{counted(len(traces), 'test')} traced, {counted(len(functions), 'function')}: "
        f"{marked} of them reach a characteristic one"
    )
    by_cause = Counter(likely.cause.value for found in causes.values() for likely in found)
    if by_cause:
        yield "tests by cause: " + ", ".join(f"{cause} {times}" for cause, times in by_cause.most_common())
    cut = Counter(note for trace in traces.values() for note in trace.notes)
    for note, times in cut.most_common():
        yield f"{counted(times, 'test')}: {note}"
    if lost:
        yield f"{counted(lost, 'test')} ended the process, so what they called is not known"


def calls_json(traces: Mapping[NodeId, CallTrace], causes: Causes) -> str:
    """The causes and processes of each test; ends with a newline."""
    tests = [
        {
            "id": test,
            "functions": len(trace.functions),
            "causes": [{"cause": likely.cause.value, "evidence": likely.evidence} for likely in causes[test]],
            "children": [command for _phase, command in trace.children],
            "notes": list(trace.notes),
        }
        for test, trace in traces.items()
    ]
    return json.dumps({"schema": SCHEMA, "tests": tests}, indent=1) + "\n"
