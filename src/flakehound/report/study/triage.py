"""What a study of triage found, as text and as CSV; takes the `flakehound/study-triage/1` object."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.report.durations import spoken
from flakehound.report.phrases import counted

_MISSING = "n/a"


def study_lines(study: Mapping[str, Any]) -> list[str]:
    """The tables, each with what it is and what it says."""
    lines: list[str] = []
    for part, told in _PARTS.items():
        if study.get(part):
            lines += [*([""] if lines else []), *told(study[part])]
    return lines + [f"note: {note}" for note in study["notes"]]


def _postponed(part: Mapping[str, Any]) -> Iterator[str]:
    repeats, suite_s = part["repeats"], spoken(part["suite_s"])
    yield "AT ONCE OR AT THE END  what n reruns of a test take, right after it and at the end of the suite"
    yield f"the suite takes {suite_s}; median of {repeats}; the difference in percent of the suite"
    rows = [
        [str(row["reruns"]), _s(row["immediate_s"]), _s(row["postponed_s"]), _difference(row), row["id"]]
        for row in part["tests"]
    ]
    yield from _aligned(["n", "at once, s", "at the end, s", "difference", "test"], rows)


def _difference(row: Mapping[str, Any]) -> str:
    return row["problem"] if row["problem"] else f"{row['more_percent']:+.2f} %"


def _processes(part: Mapping[str, Any]) -> Iterator[str]:
    numbers = [str(number) for number in part["reruns"]]
    yield "SAME PROCESS OR A NEW ONE  seconds for one test alone, and with n reruns in its process"
    yield (
        f"median of {part['repeats']}; a fork needs a session that has collected, once for all tests "
        f"({spoken(part['collection_s'])})"
    )
    head = ["base", "recorded", "fork", *numbers, "N_E", "N_fork", "test"]
    yield from _aligned(head, [_process_row(row, numbers) for row in part["tests"]])
    yield "N: reruns in the same process that take as long as one in a new interpreter, or a fork; *: extrapolated"
    if any(not row["problem"] and row["n_e"] is None for row in part["tests"]):
        yield "N is n/a where more reruns took no more time: --repeats and --reruns can be raised"


def _process_row(row: Mapping[str, Any], numbers: Sequence[str]) -> list[str]:
    if row["problem"]:
        return [_MISSING] * (5 + len(numbers)) + [f"{row['id']} {row['problem']}"]
    reruns = [_s(row["reruns_s"].get(number)) for number in numbers]
    times = [_s(row["base_s"]), _s(row["recorded_s"]), _s(row["fork_s"]), *reruns]
    return [*times, _n(row["n_e"]), _n(row["n_fork"]), row["id"]]


def _revisions(part: Mapping[str, Any]) -> Iterator[str]:
    skipped = len(part["skipped"])
    yield "DISJOINT FROM THE CHANGE  per test, the share of changes that touch nothing it depends on"
    also = f", {counted(skipped, 'revision')} skipped that could not be collected" if skipped else ""
    yield f"{counted(part['compared'], 'change')}{also}; {counted(part['recordings'], 'recording')}"
    summary = part["summary"]
    if summary is None:
        yield "no test met a change"
        return
    names = ("least", "quarter", "median", "three_quarters", "most")
    head = ["tests", "min", "25 %", "median", "75 %", "max"]
    yield from _aligned(head, [[str(summary["tests"]), *(f"{summary[name]:.0f} %" for name in names)]])
    met = sum(test["compared"] - test["disjoint"] for test in part["tests"])
    for reason, times in part["reasons"].items():
        yield f"  not disjoint {times} times of {met}: {reason}"


_PARTS = {"postponed": _postponed, "processes": _processes, "revisions": _revisions}


def _s(seconds: float | None) -> str:
    return _MISSING if seconds is None else f"{seconds:.3f}"


def _n(found: Mapping[str, Any] | None) -> str:
    return _MISSING if found is None else f"{found['reruns']:.2f}{'*' if found['extrapolated'] else ''}"


def _aligned(head: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns to the right, but for the test's name, which has the last one."""
    widths = [max(len(line[place]) for line in [head, *rows]) for place in range(len(head))]
    for line in [head, *rows]:
        named = head[-1] == "test"
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join([*cells[:-1], line[-1]] if named else cells).rstrip()


def study_csv(study: Mapping[str, Any]) -> str:
    """Every figure of every test on a line of its own: part, test, figure, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["part", "test", "figure", "value"])
    for part in _PARTS:
        for row in (study.get(part) or {}).get("tests", ()):
            for figure, value in _figures(row):
                writer.writerow([part, row["id"], figure, value])
    return text.getvalue()


def _figures(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _figures(value, f"{prefix}{name}.")
        elif name != "id" and value not in (None, ""):
            yield prefix + name, value
