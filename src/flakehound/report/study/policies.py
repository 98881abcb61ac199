"""How policies of a search compare, as text and as a figure; takes the `flakehound/study-policies/1` object."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from flakehound.report.study.tables import markdown

_PEERS = ("rerun", "cannier", "calls")


def policy_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Mean times, and ratios to the peers turn by turn with a 95 % interval."""
    known = {"lint": "scores of lint", "parts": "scores, calls and features of real tests"}
    score = known.get(told["scores"], f"score of AUC {told['auc']}")
    yield f"{_suites(told)}; {score}; seed {told['seed']}"
    yield ""
    seconds = {name: one["seconds"] for name, one in told["policies"].items()}
    head = ["policy", f"s until {told['found']:.0%} are found", *(f"against {peer}" for peer in _PEERS)]
    rows = [[name, _mean(found), *(_ratio(found, seconds[p]) for p in _PEERS)] for name, found in seconds.items()]
    yield from markdown(head, rows)


def _suites(told: Mapping[str, Any]) -> str:
    if told["store"]:
        return f"{told['seeds']} times the tests of {told['store']}, {told['nod'][0]} of them NOD; their own times"
    java = told["counts"] == "java"
    about = "true shares and costs" if java else f"{told['share']:.1%} of all; costs {told['costs']}"
    return f"{told['seeds']} suites of {told['flaky']} NOD tests ({told['counts']}), {about}"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    missing = f", never in {len(values) - len(known)}" if len(known) < len(values) else ""
    mean = statistics.mean(known) if known else 0.0
    return (f"{mean:.{0 if mean >= 100 else 2}f}" if known else "–") + missing


def _ratio(ours: Sequence[float | None], peer: Sequence[float | None]) -> str:
    found = [a / b for a, b in zip(ours, peer, strict=True) if a is not None and b is not None]
    if len(found) < 2:
        return "–"
    half = 1.96 * statistics.stdev(found) / len(found) ** 0.5
    return (
        f"{statistics.mean(found):.2f} ({statistics.mean(found) - half:.2f}–{statistics.mean(found) + half:.2f})"
    )


def plot_detections(told: Mapping[str, Any], path: Path) -> None:
    """NOD tests found against time: for each policy the mean over the suites, and a band of most of them."""
    from matplotlib.figure import Figure  # without pyplot: touches no display

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    seconds = told["curves"]["seconds"]
    for name, curve in told["curves"]["policies"].items():
        (line,) = axes.plot(seconds, curve["mean"], label=name)
        axes.fill_between(seconds, curve["low"], curve["high"], color=line.get_color(), alpha=0.12, linewidth=0)
    axes.axhline(told["found"] * statistics.mean(told["nod"]), color="grey", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("time, s")
    axes.set_ylabel("NOD tests found")
    axes.set_title("mean of the suites, and their 10th to 90th percentile", fontsize="small")
    axes.legend()
    figure.savefig(path, dpi=150)
