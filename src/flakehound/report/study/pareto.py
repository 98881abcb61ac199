"""The Pareto front of detection and cost, as text and as a plot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from flakehound.report.formatting import counted
from flakehound.report.study.tables import markdown_table


class ParetoPoint(TypedDict):
    """One pair of thresholds with its detection and cost; means over repeats."""

    first: float  # the lower threshold, or the one for victims
    second: float  # the upper threshold, or the one for polluters
    samples: float  # measurements of the features
    detection: float  # MCC, or the share of pairs found
    cost_s: float


class PairFigures(TypedDict, total=False):
    """Figures that only a study of the technique `pairwise` has."""

    pairs: int
    pairs_known: bool  # False: each polluter is paired with each victim of its project
    pairs_left_out: int


class ParetoStudy(PairFigures):
    """The JSON object `flakehound/study-pareto/1`."""

    schema: str
    table: str
    technique: str
    repeats: int
    seed: int
    points: int
    original: ParetoPoint
    knee: ParetoPoint
    pure_model: ParetoPoint | None
    front: list[ParetoPoint]


_SINGLE_MODEL_COLUMNS = ("lower", "upper", "MCC")
_PAIR_COLUMNS = ("victims from", "polluters from", "pairs found")


def front_lines(study: ParetoStudy) -> Iterator[str]:
    """The points of interest, each compared with the technique alone."""
    first, second, detection = _column_names(study)
    yield (
        f"{study['table']}, {study['technique']}: {study['points']} points, {len(study['front'])} on the front; "
        f"{study['repeats']} repeats, seed {study['seed']}"
    )
    yield ""
    header = ["point", first, second, "measurements", detection, "cost, s", "of the technique alone"]
    technique_s = study["original"]["cost_s"] or 1.0
    yield from markdown_table(header, [_row(name, point, technique_s) for name, point in _points(study).items()])
    if "pairs" in study:
        yield from _pair_notes(study)


def _points(study: ParetoStudy) -> dict[str, ParetoPoint]:
    """The points of interest by name."""
    points = {"the technique alone": study["original"], "balanced (knee)": study["knee"]}
    return points if study["pure_model"] is None else {**points, "the model alone": study["pure_model"]}


def _column_names(study: ParetoStudy) -> tuple[str, str, str]:
    return _PAIR_COLUMNS if "pairs" in study else _SINGLE_MODEL_COLUMNS


def _pair_notes(study: ParetoStudy) -> Iterator[str]:
    yield f"{study['pairs']} pairs can be found; models only choose which pairs are run, so none decides alone"
    if not study["pairs_known"]:
        yield "note: the pairs are not known: each polluter is paired with each victim of its project"
    if study["pairs_left_out"]:
        yield f"note: {counted(study['pairs_left_out'], 'pair')} left out: of tests that the table does not have"


def _row(name: str, point: ParetoPoint, technique_s: float) -> list[str]:
    thresholds = [f"{point['first']:.2f}", f"{point['second']:.2f}", f"{point['samples']:.0f}"]
    return [
        name,
        *thresholds,
        f"{point['detection']:.3f}",
        f"{point['cost_s']:.3g}",
        f"{point['cost_s'] / technique_s:.1%}",
    ]


def plot_front(study: ParetoStudy, path: Path) -> None:
    """The front as fig. 8 of CANNIER draws it, with its points of interest."""
    from matplotlib.figure import Figure  # not pyplot, which may need a display

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([point["cost_s"] for point in study["front"]], [point["detection"] for point in study["front"]])
    for name, point in _points(study).items():
        axes.plot(point["cost_s"], point["detection"], "o", label=name)
    axes.set_xscale("log")
    axes.set_xlabel("cost, s")
    axes.set_ylabel(_column_names(study)[2])
    axes.legend()
    figure.savefig(path, dpi=150)
