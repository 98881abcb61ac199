"""A front of detection and cost, as text and as a figure; takes the `flakehound/study-pareto/1` object."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from flakehound.report.learn_tables import markdown

_PLACES = {"original": "the technique alone", "knee": "balanced (knee)", "pure_model": "the model alone"}


def front_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """The points of interest, each against the technique alone."""
    yield (
        f"{told['table']}, {told['technique']}: {told['points']} points, {len(told['front'])} on the front; "
        f"{told['repeats']} repeats, seed {told['seed']}"
    )
    yield ""
    head = ["point", "lower", "upper", "measurements", "MCC", "cost, s", "of the technique alone"]
    whole_s = told["original"]["cost_s"] or 1.0
    rows = [_row(words, told[name], whole_s) for name, words in _PLACES.items() if told[name]]
    yield from markdown(head, rows)


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
    drawing: Any = importlib.import_module("matplotlib.figure")
    figure = drawing.Figure(figsize=(6.0, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.plot([one["cost_s"] for one in told["front"]], [one["detection"] for one in told["front"]])
    for name, words in _PLACES.items():
        if told[name]:
            axes.plot(told[name]["cost_s"], told[name]["detection"], "o", label=words)
    axes.set_xscale("log")
    axes.set_xlabel("cost, s")
    axes.set_ylabel("MCC")
    axes.legend()
    figure.savefig(path, dpi=150)
