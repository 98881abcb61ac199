"""Which functions mark flaky tests, and what rerunning only their callers saves, as text."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

_MAX_SHOWN_FUNCTIONS = 30


class SelectedFunction(TypedDict):
    """A function that an approach selects."""

    function: str
    file: str
    cause: str | None


class CallApproach(TypedDict):
    """One way to select functions, and how well they mark flaky tests."""

    name: str
    flaky_share: float  # share of the flaky tests that call one of the functions
    share: float  # share of all tests that call one of them
    original: int  # number of functions
    solo: int  # functions that flaky tests of at most one project call
    cryptic: int  # functions without a known cause
    remaining: int  # functions that are neither solo nor cryptic
    remaining_shares: dict[str, float]
    functions: list[SelectedFunction]


class CallsStudy(TypedDict):
    """The JSON object `flakehound/study-calls/1`."""

    schema: str
    tests: int
    flaky: int
    functions: int
    seed: int
    beta: dict[str, float]
    approaches: list[CallApproach]
    folds: list[dict[str, Any]]
    reruns: list[dict[str, Any]]  # forecasts for three ways to rerun tests; empty without counts and times


def calls_study_text(study: CallsStudy) -> str:
    """The tables of CALLS, recomputed; without a newline at the end."""
    parts = (
        [f"{study['tests']} tests, {study['flaky']} flaky, {study['functions']} functions (seed {study['seed']})"],
        list(_share_lines(study["approaches"])),
        list(_fold_lines(study["folds"])),
        list(_quality_lines(study["approaches"])),
        list(_rerun_lines(study["reruns"])),
        *[
            list(_function_lines(approach))
            for approach in study["approaches"]
            if approach["name"].startswith("selected")
        ],
    )
    return "\n\n".join("\n".join(part) for part in parts if part)


def _share_lines(approaches: Sequence[CallApproach]) -> Iterator[str]:
    yield f"{'tests that call one of them (table 5.1)':<42}{'of flaky':>10}{'of all':>10}"
    for approach in approaches:
        flaky, every = _percent(approach["flaky_share"]), _percent(approach["share"])
        yield f"  {approach['name']:<40}{flaky:>10}{every:>10}"


def _fold_lines(folds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not folds:
        return
    yield f"{f'held out in {len(folds)} folds (table 5.2)':<42}{'of flaky':>10}{'of all':>10}"
    for name, aggregate in (("least", min), ("mean", statistics.fmean), ("most", max)):
        flaky, every = (aggregate([fold[share] for fold in folds]) for share in ("flaky_share", "share"))
        yield f"  {name:<40}{_percent(flaky):>10}{_percent(every):>10}"


def _quality_lines(approaches: Sequence[CallApproach]) -> Iterator[str]:
    columns = ("original", "solo", "cryptic", "remaining")
    yield f"{'functions (table 5.3)':<42}" + "".join(f"{name:>10}" for name in columns)
    for approach in approaches:
        counts = (approach["original"], approach["solo"], approach["cryptic"], approach["remaining"])
        yield f"  {approach['name']:<40}" + "".join(f"{count:>10}" for count in counts)


def _rerun_lines(ways: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not ways:
        return
    yield f"{'rerun, at most 170 times each':<42}{'found':>10}{'reruns':>10}{'seconds':>10}"
    for way in ways:
        yield f"  {way['way']:<40}{way['detections']:>10.1f}{way['reruns']:>10.0f}{way['time_s']:>10.0f}"


def _function_lines(approach: CallApproach) -> Iterator[str]:
    yield f"{approach['name']}:"
    for selected in approach["functions"][:_MAX_SHOWN_FUNCTIONS]:
        yield f"  {selected['function']:<40}  {selected['cause'] or '-'}"
    others = len(approach["functions"]) - _MAX_SHOWN_FUNCTIONS
    if others > 0:
        yield f"  ... and {others} more"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
