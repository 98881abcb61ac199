"""How the policies of a search compare, as text and as a plot."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TypedDict

from flakehound.report.study.tables import markdown_table

_COMPARED_POLICIES = ("rerun", "cannier", "calls")


class PolicyTimes(TypedDict):
    """The seconds until one policy has found enough tests, for each suite; None: never."""

    seconds: list[float | None]


class DetectionCurve(TypedDict):
    """The number of tests that one policy found by each time: the mean over the suites, and a band around it."""

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
    nod: list[int]  # number of NOD tests in each suite
    found: float  # share of them that has to be found
    policies: dict[str, PolicyTimes]
    curves: DetectionCurves


def policy_lines(study: PolicyStudy) -> Iterator[str]:
    """Mean times, and mean ratios to other policies on the same suite, with 95 % intervals."""
    sources = {"lint": "scores of lint", "parts": "scores, calls and features of real tests"}
    scores = sources.get(study["scores"], f"score of AUC {study['auc']}")
    yield f"{_suite_words(study)}; {scores}; seed {study['seed']}"
    yield ""
    seconds = {name: times["seconds"] for name, times in study["policies"].items()}
    peers = _COMPARED_POLICIES
    header = ["policy", f"s until {study['found']:.0%} are found", *(f"against {peer}" for peer in peers)]
    rows = [
        [name, _mean_text(own_s), *(_ratio_text(own_s, seconds[peer]) for peer in peers)]
        for name, own_s in seconds.items()
    ]
    yield from markdown_table(header, rows)


def _suite_words(study: PolicyStudy) -> str:
    if study["store"]:
        tests = f"the tests of {study['store']}, {study['nod'][0]} of them NOD"
        return f"{study['seeds']} times {tests}; their own times"
    is_java = study["counts"] == "java"
    shares = "true shares and costs" if is_java else f"{study['share']:.1%} of all; costs {study['costs']}"
    return f"{study['seeds']} suites of {study['flaky']} NOD tests ({study['counts']}), {shares}"


def _mean_text(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    missing = f", never in {len(values) - len(known)}" if len(known) < len(values) else ""
    mean = statistics.mean(known) if known else 0.0
    return (f"{mean:.{0 if mean >= 100 else 2}f}" if known else "–") + missing


def _ratio_text(own_s: Sequence[float | None], peer_s: Sequence[float | None]) -> str:
    ratios = [a / b for a, b in zip(own_s, peer_s, strict=True) if a is not None and b is not None]
    if len(ratios) < 2:
        return "–"
    mean, half_width = statistics.mean(ratios), 1.96 * statistics.stdev(ratios) / len(ratios) ** 0.5
    return f"{mean:.2f} ({mean - half_width:.2f}–{mean + half_width:.2f})"


def plot_detections(study: PolicyStudy, path: Path) -> None:
    """Plot the NOD tests found over time: for each policy the mean over the suites, and a band around it."""
    from matplotlib.figure import Figure  # not pyplot, which may need a display

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
