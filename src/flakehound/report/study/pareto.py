"""A front of detection and cost, as text and as a figure; takes the `flakehound/study-pareto/1` object."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flakehound.report.phrases import counted
from flakehound.report.study.tables import markdown

_PLACES = {"original": "the technique alone", "knee": "balanced (knee)", "pure_model": "the model alone"}


_SINGLE = ("lower", "upper", "MCC")
_PAIRS = ("victims from", "polluters from", "pairs found")


def front_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The points of interest, each against the technique alone."""
    first, second, detection = _names(told)
    yield (
        f"{told['table']}, {told['technique']}: {told['points']} points, {len(told['front'])} on the front; "
        f"{told['repeats']} repeats, seed {told['seed']}"
    )
    yield ""
    head = ["point", first, second, "measurements", detection, "cost, s", "of the technique alone"]
    whole_s = told["original"]["cost_s"] or 1.0
    rows = [_row(words, told[name], whole_s) for name, words in _PLACES.items() if told[name]]
    yield from markdown(head, rows)
    if "pairs" in told:
        yield from _pair_notes(told)


def _names(told: Mapping[str, Any]) -> tuple[str, str, str]:
    return _PAIRS if "pairs" in told else _SINGLE


def _pair_notes(told: Mapping[str, Any]) -> Iterator[str]:
    yield f"{told['pairs']} pairs are there to be found; models only choose pairs, so no model decides alone"
    if not told["pairs_known"]:
        yield "note: nothing tells who pollutes whom: each polluter counts with each victim of its project"
    if told["pairs_left_out"]:
        yield f"note: {counted(told['pairs_left_out'], 'pair')} left out: of tests that the table does not have"


def _row(words: str, point: Mapping[str, float], whole_s: float) -> list[str]:
    thresholds = [f"{point['first']:.2f}", f"{point['second']:.2f}", f"{point['samples']:.0f}"]
    return [
        words,
        *thresholds,
        f"{point['detection']:.3f}",
        f"{point['cost_s']:.3g}",
        f"{point['cost_s'] / whole_s:.1%}",
    ]


def plot_front(told: Mapping[str, Any], path: Path) -> None:
    """The front as fig. 8 of CANNIER draws it, with its points of interest."""
    from matplotlib.figure import Figure  # without pyplot: touches no display

    figure = Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([one["cost_s"] for one in told["front"]], [one["detection"] for one in told["front"]])
    for name, words in _PLACES.items():
        if told[name]:
            axes.plot(told[name]["cost_s"], told[name]["detection"], "o", label=words)
    axes.set_xscale("log")
    axes.set_xlabel("cost, s")
    axes.set_ylabel(_names(told)[2])
    axes.legend()
    figure.savefig(path, dpi=150)
