"""Measure two ways of doing one job in turns, and report how they compare.

The speed of a machine drifts. Turns (ours, peer, peer, ours, …) let both sides run under the same conditions. The
ratio is computed for each turn; its median is reported with the whole range.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """One figure, measured several times."""

    values: tuple[float, ...]

    @property
    def median(self) -> float:
        """The median of all measurements."""
        return statistics.median(self.values)

    def text(self, unit: str = "s", scale: float = 1.0) -> str:
        """Format as `median unit (minimum–maximum)`."""
        median, low, high = (_figure(value * scale) for value in (self.median, min(self.values), max(self.values)))
        return f"{median} {unit} ({low}–{high})".replace("  ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table of results."""

    job: str
    ours: str
    peer: str
    measured: str  # the figure that the goal is about, often a ratio
    goal: str = ""  # empty: for information, no goal was set
    met: bool | None = None  # None where there is no goal, or it could not be measured
    is_detail: bool = False  # printed by the script, left out of RESULTS.md


def measure_in_turns(repeats: int, sides: Mapping[str, Callable[[], float]]) -> dict[str, Series]:
    """Run every side once per turn; each returns its own figure, usually seconds.

    Every second turn runs in reverse order, so that no side always follows the same other side.
    """
    values: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats):
        for name, measure in list(sides.items())[:: -1 if turn % 2 else 1]:
            values[name].append(measure())
            print(f"  turn {turn + 1} of {repeats}: {name} {_figure(values[name][-1])}", flush=True)
    return {name: Series(values=tuple(figures)) for name, figures in values.items()}


def ratio_per_turn(numerator: Series, denominator: Series) -> Series:
    """Divide the two figures of each turn."""
    return Series(values=tuple(a / b for a, b in zip(numerator.values, denominator.values, strict=True)))


def speedup_row(
    job: str, *, ours: Series, peer: Series, times: float | None, unit: str = "s", scale: float = 1.0
) -> Row:
    """The row of a goal "the peer takes at least `times` as long"; without `times` there is no goal."""
    speedup = ratio_per_turn(peer, ours)
    return Row(
        job=job,
        ours=ours.text(unit, scale),
        peer=peer.text(unit, scale),
        measured=speedup.text("×"),
        goal="" if times is None else f"≥ {times:g} ×",
        met=None if times is None else speedup.median >= times,
    )


def limit_row(
    job: str, *, ours: str, peer: str, figure: Series, limit: float, unit: str = "×", is_detail: bool = False
) -> Row:
    """The row of a goal "the median of this figure is at most `limit`"."""
    return Row(
        job=job,
        ours=ours,
        peer=peer,
        measured=figure.text(unit),
        goal=f"≤ {limit:g} {unit}",
        met=figure.median <= limit,
        is_detail=is_detail,
    )


@contextmanager
def on_cores(count: int | None) -> Iterator[None]:
    """Restrict this thread and the processes it starts to `count` cores; None allows all of them."""
    if count is None or not hasattr(os, "sched_setaffinity"):
        yield
        return
    allowed = os.sched_getaffinity(0)
    # The last ones: the first core serves more interrupts on most machines.
    os.sched_setaffinity(0, sorted(allowed)[-count:])
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def wall_s(work: Callable[[], object]) -> float:
    """Do the work and return its wall time."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def benchmark_parser(description: str, repeats: int = 5) -> argparse.ArgumentParser:
    """A parser with the options that every benchmark has."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=repeats, help="turns (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the rows to this file")
    return parser


def report_results(rows: Sequence[Row], json_path: Path | None, notes: Sequence[str] = ()) -> None:
    """Print the rows as a table and the notes below it; write both as JSON for `run.py`."""
    print("\n".join([markdown_table(rows), "", *(f"- {note}" for note in notes)]).rstrip())
    if json_path is not None:
        json_path.write_text(json.dumps({"rows": [asdict(row) for row in rows], "notes": list(notes)}, indent=1))


def markdown_table(rows: Sequence[Row]) -> str:
    """The rows as a Markdown table."""
    head = ["| job | ours | peer | measured | goal | met |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [_line(row) for row in rows])


def _line(row: Row) -> str:
    met = {True: "yes", False: "**no**", None: "–"}[row.met]
    cells = (row.job, row.ours, row.peer, row.measured, row.goal or "–", met)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
