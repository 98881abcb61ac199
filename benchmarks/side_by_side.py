"""Time two ways of doing one job in turns, and say how they compare.

Turns (ours, peer, peer, ours, …) because a machine's speed drifts: both sides then meet the same weather. The
ratio is taken turn by turn and its median reported with the whole range.
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
        """The middle one."""
        return statistics.median(self.values)

    def text(self, unit: str = "s", scale: float = 1.0) -> str:
        """`median unit (least–most)`."""
        middle, low, high = (_figure(value * scale) for value in (self.median, min(self.values), max(self.values)))
        return f"{middle} {unit} ({low}–{high})".replace("  ", " ")


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line of the table of results."""

    job: str
    ours: str
    peer: str
    measured: str
    goal: str = ""  # empty: told for information, no goal was set
    met: bool | None = None  # None where there is no goal, or it could not be measured


def in_turns(repeats: int, sides: Mapping[str, Callable[[], float]]) -> dict[str, Series]:
    """Run every side once per turn; each returns its own figure, mostly seconds.

    Every second turn goes backwards, so that no side always follows the same other.
    """
    values: dict[str, list[float]] = {name: [] for name in sides}
    for turn in range(repeats):
        for name, measure in list(sides.items())[:: -1 if turn % 2 else 1]:
            values[name].append(measure())
            print(f"  turn {turn + 1} of {repeats}: {name} {_figure(values[name][-1])}", flush=True)
    return {name: Series(values=tuple(found)) for name, found in values.items()}


def ratio(of: Series, to: Series) -> Series:
    """Turn by turn, how many times larger the first is."""
    return Series(values=tuple(a / b for a, b in zip(of.values, to.values, strict=True)))


def at_least(
    job: str, *, ours: Series, peer: Series, times: float | None, unit: str = "s", scale: float = 1.0
) -> Row:
    """The row of a goal `the peer takes at least so many times as long`; `times` None sets no goal."""
    gain = ratio(peer, ours)
    return Row(
        job=job,
        ours=ours.text(unit, scale),
        peer=peer.text(unit, scale),
        measured=gain.text("×"),
        goal="" if times is None else f"≥ {times:g} ×",
        met=None if times is None else gain.median >= times,
    )


def at_most(job: str, *, ours: str, peer: str, figure: Series, limit: float, unit: str = "×") -> Row:
    """The row of a goal `this figure stays at or below a limit`."""
    return Row(
        job=job,
        ours=ours,
        peer=peer,
        measured=figure.text(unit),
        goal=f"≤ {limit:g} {unit}",
        met=figure.median <= limit,
    )


@contextmanager
def on_cores(count: int | None) -> Iterator[None]:
    """Keep this thread, and what it starts, to so many cores; None leaves all of them."""
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
    """How long the work takes on the clock."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def arguments(description: str, repeats: int = 5) -> argparse.ArgumentParser:
    """The options every benchmark has."""
    parser = argparse.ArgumentParser(description=description.split("\n")[0])
    parser.add_argument("--repeats", type=int, default=repeats, help="turns (default %(default)s)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows there too")
    return parser


def told(rows: Sequence[Row], json_path: Path | None, notes: Sequence[str] = ()) -> None:
    """Print the rows as a table, the notes below it, and keep both for `run.py`."""
    print("\n".join([table(rows), "", *(f"- {note}" for note in notes)]).rstrip())
    if json_path is not None:
        json_path.write_text(json.dumps({"rows": [asdict(row) for row in rows], "notes": list(notes)}, indent=1))


def table(rows: Sequence[Row]) -> str:
    """The rows in Markdown."""
    head = ["| job | ours | peer | measured | goal | met |", "|---|---|---|---|---|---|"]
    return "\n".join(head + [_line(row) for row in rows])


def _line(row: Row) -> str:
    met = {True: "yes", False: "**no**", None: "–"}[row.met]
    cells = (row.job, row.ours, row.peer, row.measured, row.goal or "–", met)
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _figure(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"
