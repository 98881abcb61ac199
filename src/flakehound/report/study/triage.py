"""What reruns cost and how often changes are disjoint from tests, as text and as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

from flakehound.report.durations import duration_text
from flakehound.report.formatting import counted

_NOT_AVAILABLE = "n/a"


class PostponedFigures(TypedDict):
    """The cost of reruns right after a test, and at the end of the suite."""

    suite_s: float
    repeats: int
    tests: list[dict[str, Any]]


class ProcessFigures(TypedDict):
    """The cost of a rerun in a new interpreter, in a fork, and in the same process."""

    repeats: int
    collection_s: float
    reruns: list[int]
    tests: list[dict[str, Any]]


class RevisionFigures(TypedDict):
    """How many changes touch nothing that a test depends on."""

    compared: int
    skipped: list[dict[str, str]]
    recordings: int
    summary: dict[str, Any] | None  # None: no test was compared with a change
    reasons: dict[str, int]
    tests: list[dict[str, Any]]
    steps: list[dict[str, Any]]


class StudyParts(TypedDict, total=False):
    """The parts of a study of triage that were requested and started; None: a part has no figures yet."""

    postponed: PostponedFigures | None
    processes: ProcessFigures | None
    revisions: RevisionFigures | None


class TriageStudy(StudyParts):
    """The JSON object `flakehound/study-triage/1`."""

    schema: str
    project: str
    seed: int
    interrupted: bool
    notes: list[str]


def triage_study_lines(study: TriageStudy) -> list[str]:
    """The table of each part, with its title and legend."""
    parts: list[Iterator[str]] = []
    if postponed := study.get("postponed"):
        parts.append(_postponed_lines(postponed))
    if processes := study.get("processes"):
        parts.append(_process_lines(processes))
    if revisions := study.get("revisions"):
        parts.append(_revision_lines(revisions))
    lines = [line for part in parts for line in ("", *part)][1:]
    return lines + [f"note: {note}" for note in study["notes"]]


def _postponed_lines(part: PostponedFigures) -> Iterator[str]:
    repeats, suite_s = part["repeats"], duration_text(part["suite_s"])
    yield "AT ONCE OR AT THE END  what n reruns of a test take, right after it and at the end of the suite"
    yield f"the suite takes {suite_s}; median of {repeats}; the difference in percent of the suite"
    rows = [
        [
            str(row["reruns"]),
            _seconds_text(row["immediate_s"]),
            _seconds_text(row["postponed_s"]),
            _difference_text(row),
            row["id"],
        ]
        for row in part["tests"]
    ]
    yield from _aligned(["n", "at once, s", "at the end, s", "difference", "test"], rows)


def _difference_text(row: Mapping[str, Any]) -> str:
    return row["problem"] if row["problem"] else f"{row['more_percent']:+.2f} %"


def _process_lines(part: ProcessFigures) -> Iterator[str]:
    numbers = [str(number) for number in part["reruns"]]
    yield "SAME PROCESS OR A NEW ONE  seconds for one test alone, and with n reruns in its process"
    yield (
        f"median of {part['repeats']}; a fork needs a session that has collected, once for all tests "
        f"({duration_text(part['collection_s'])})"
    )
    header = ["base", "recorded", "fork", *numbers, "N_E", "N_fork", "test"]
    yield from _aligned(header, [_process_row(row, numbers) for row in part["tests"]])
    yield "N: reruns in the same process that take as long as one in a new interpreter, or a fork; *: extrapolated"
    if any(not row["problem"] and row["n_e"] is None for row in part["tests"]):
        yield "N is n/a where more reruns took no more time: --repeats and --reruns can be raised"


def _process_row(row: Mapping[str, Any], numbers: Sequence[str]) -> list[str]:
    if row["problem"]:
        return [_NOT_AVAILABLE] * (5 + len(numbers)) + [f"{row['id']} {row['problem']}"]
    reruns = [_seconds_text(row["reruns_s"].get(number)) for number in numbers]
    times = [_seconds_text(row[name]) for name in ("base_s", "recorded_s", "fork_s")]
    return [*times, *reruns, _equivalent_text(row["n_e"]), _equivalent_text(row["n_fork"]), row["id"]]


def _revision_lines(part: RevisionFigures) -> Iterator[str]:
    skipped = len(part["skipped"])
    yield "DISJOINT FROM THE CHANGE  per test, the share of changes that touch nothing it depends on"
    skipped_note = f", {counted(skipped, 'revision')} skipped that could not be collected" if skipped else ""
    yield f"{counted(part['compared'], 'change')}{skipped_note}; {counted(part['recordings'], 'recording')}"
    summary = part["summary"]
    if summary is None:
        yield "no test met a change"
        return
    names = ("least", "quarter", "median", "three_quarters", "most")
    header = ["tests", "min", "25 %", "median", "75 %", "max"]
    yield from _aligned(header, [[str(summary["tests"]), *(f"{summary[name]:.0f} %" for name in names)]])
    not_disjoint = sum(test["compared"] - test["disjoint"] for test in part["tests"])
    for reason, times in part["reasons"].items():
        yield f"  not disjoint {times} times of {not_disjoint}: {reason}"


def _seconds_text(seconds: float | None) -> str:
    return _NOT_AVAILABLE if seconds is None else f"{seconds:.3f}"


def _equivalent_text(equivalent: Mapping[str, Any] | None) -> str:
    if equivalent is None:
        return _NOT_AVAILABLE
    return f"{equivalent['reruns']:.2f}{'*' if equivalent['extrapolated'] else ''}"


def _aligned(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Align the columns to the right, except for a last column `test`."""
    widths = [max(len(line[column]) for line in [header, *rows]) for column in range(len(header))]
    ends_with_test = header[-1] == "test"
    for line in [header, *rows]:
        cells = [cell.rjust(width) for cell, width in zip(line, widths, strict=True)]
        yield "  ".join([*cells[:-1], line[-1]] if ends_with_test else cells).rstrip()


def triage_study_csv(study: TriageStudy) -> str:
    """A CSV with one line for each figure of each test: part, test, figure, value."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["part", "test", "figure", "value"])
    for part, tests in _tests_by_part(study).items():
        for row in tests:
            writer.writerows([part, row["id"], figure, value] for figure, value in _figures(row))
    return text.getvalue()


def _tests_by_part(study: TriageStudy) -> dict[str, list[dict[str, Any]]]:
    postponed, processes, revisions = study.get("postponed"), study.get("processes"), study.get("revisions")
    return {
        "postponed": postponed["tests"] if postponed else [],
        "processes": processes["tests"] if processes else [],
        "revisions": revisions["tests"] if revisions else [],
    }


def _figures(row: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, object]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _figures(value, f"{prefix}{name}.")
        elif name != "id" and value not in (None, ""):
            yield prefix + name, value
