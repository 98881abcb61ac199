"""The features of a suite's tests: as CSV, as JSON, and as text with median and maximum."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median

from flakehound.report.formatting import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureColumn:
    """One feature."""

    name: str
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FeatureReport:
    """The mean features of every test of a suite."""

    columns: tuple[FeatureColumn, ...]
    tests: Mapping[str, Mapping[str, float | None]]  # test -> feature -> mean; None: not known
    runs: int
    commits: int  # whose changed lines are counted
    seed: int
    notes: tuple[str, ...] = ()
    remedies: tuple[str, ...] = ()  # commands that would give more features
    interrupted: bool = False


def as_csv(found: FeatureReport) -> str:
    """One row per test; a feature that is not known is empty."""
    sheet = io.StringIO(newline="")
    names = [column.name for column in found.columns]
    writer = csv.writer(sheet)
    writer.writerow(["id", *names])
    for test, values in found.tests.items():
        writer.writerow([test, *("" if values[name] is None else _cell(values[name]) for name in names)])
    return sheet.getvalue()


def as_json(found: FeatureReport) -> str:
    """`flakehound/features/1`."""
    report = {
        "schema": "flakehound/features/1",
        "runs": found.runs,
        "commits": found.commits,
        "seed": found.seed,
        "units": {column.name: column.unit for column in found.columns},
        "notes": list(found.notes),
        "tests": [{"id": test, **values} for test, values in found.tests.items()],
    }
    return json.dumps(report, indent=1) + "\n"


def as_text(found: FeatureReport, csv_file: str | None) -> str:
    """Per feature the median, the largest value and the test that has it."""
    lines = [f"{counted(len(found.tests), 'test')}, mean of {counted(found.runs, 'measured run')}", ""]
    lines += _extremes(found)
    lines += [f"note: {note}" for note in found.notes]
    lines += [f"try: {remedy}" for remedy in found.remedies]
    lines.append(
        f"every figure: {csv_file}" if csv_file else "every figure: flakehound features --csv features.csv"
    )
    return "\n".join(lines)


def _extremes(found: FeatureReport) -> Iterator[str]:
    rows = [("feature", "median", "most", "test")]
    for column in found.columns:
        known = {test: values[column.name] for test, values in found.tests.items()}
        figures = {test: value for test, value in known.items() if value is not None}
        if figures:
            test = max(figures, key=lambda test: figures[test])
            rows.append((column.name, _short(median(figures.values())), _short(figures[test]), test))
        else:
            rows.append((column.name, "-", "-", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    for name, middle, most, test in rows:
        yield f"{name:{widths[0]}}  {middle:>{widths[1]}}  {most:>{widths[2]}}  {test}".rstrip()


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}" if value % 1 else f"{value:.0f}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 1000 else f"{value:.3g}"
