"""How the policies of a search compare, as text and as a figure."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from flakehound.report.study.tables import markdown_table

_PEERS = ("rerun", "cannier", "calls")


class PolicyTimes(TypedDict):
    """Of one policy, for each suite the seconds until enough tests are found; None: never."""

    seconds: list[float | None]


class DetectionCurve(TypedDict):
    """Of one policy, the tests found at each time: mean over the suites, and a band that holds most of them."""

    mean: list[float]
    low: list[float]
    high: list[float]


class DetectionCurves(TypedDict):
    """The curves of all policies at the same times."""

    seconds: list[float]
    policies: dict[str, DetectionCurve]


class PolicyStudy(TypedDict):
    """The JSON object `flakehound/study-policies/1`."""

    schema: str
    seeds: int
    auc: float | None
    costs: str
    flaky: int
    share: float
    seed: int
    counts: str
    store: str | None
    scores: str
    nod: list[int]  # NOD tests of each suite
    found: float  # the share of them that has to be found
    policies: dict[str, PolicyTimes]
    curves: DetectionCurves


def policy_lines(study: PolicyStudy) -> Iterator[str]:
    """Mean times, and ratios to other policies suite by suite with a 95 % interval."""
    known = {"lint": "scores of lint", "parts": "scores, calls and features of real tests"}
    score = known.get(study["scores"], f"score of AUC {study['auc']}")
    yield f"{_suites(study)}; {score}; seed {study['seed']}"
    yield ""
    seconds = {name: one["seconds"] for name, one in study["policies"].items()}
    header = ["policy", f"s until {study['found']:.0%} are found", *(f"against {peer}" for peer in _PEERS)]
    rows = [[name, _mean(found), *(_ratio(found, seconds[p]) for p in _PEERS)] for name, found in seconds.items()]
    yield from markdown_table(header, rows)


def _suites(study: PolicyStudy) -> str:
    if study["store"]:
        tests = f"the tests of {study['store']}, {study['nod'][0]} of them NOD"
        return f"{study['seeds']} times {tests}; their own times"
    java = study["counts"] == "java"
    about = "true shares and costs" if java else f"{study['share']:.1%} of all; costs {study['costs']}"
    return f"{study['seeds']} suites of {study['flaky']} NOD tests ({study['counts']}), {about}"


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    missing = f", never in {len(values) - len(known)}" if len(known) < len(values) else ""
    mean = statistics.mean(known) if known else 0.0
    return (f"{mean:.{0 if mean >= 100 else 2}f}" if known else "–") + missing


def _ratio(ours: Sequence[float | None], peer: Sequence[float | None]) -> str:
    found = [a / b for a, b in zip(ours, peer, strict=True) if a is not None and b is not None]
    if len(found) < 2:
        return "–"
    mean, half = statistics.mean(found), 1.96 * statistics.stdev(found) / len(found) ** 0.5
    return f"{mean:.2f} ({mean - half:.2f}–{mean + half:.2f})"


def plot_detections(study: PolicyStudy, path: Path) -> None:
    """NOD tests found against time: for each policy the mean over the suites, and a band of most of them."""
    from matplotlib.figure import Figure  # without pyplot: touches no display

    figure = Figure(figsize=(7.5, 4.5), layout="constrained")
    axes = figure.add_subplot()
    seconds = study["curves"]["seconds"]
    for name, curve in study["curves"]["policies"].items():
        (line,) = axes.plot(seconds, curve["mean"], label=name)
        axes.fill_between(seconds, curve["low"], curve["high"], color=line.get_color(), alpha=0.12, linewidth=0)
    axes.axhline(study["found"] * statistics.mean(study["nod"]), color="grey", linewidth=0.8, linestyle=":")
    axes.set_xscale("log")
    axes.set_xlabel("time, s")
    axes.set_ylabel("NOD tests found")
    axes.set_title("mean of the suites, and their 10th to 90th percentile", fontsize="small")
    axes.legend()
    figure.savefig(path, dpi=150)
