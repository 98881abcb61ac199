"""Which functions mark flaky tests, and what rerunning only their callers saves, as tables."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypedDict

_MOST_FUNCTIONS = 30


class SelectedFunction(TypedDict):
    """A function that an approach selects."""

    function: str
    file: str
    cause: str | None


class CallApproach(TypedDict):
    """One way to select functions, and how well they mark flaky tests."""

    name: str
    flaky_share: float  # of the flaky tests that call one of the functions
    share: float  # of all tests that call one
    original: int  # functions
    solo: int  # that mark flaky tests of one project at most
    cryptic: int  # for which no cause is known
    remaining: int
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
    reruns: list[dict[str, Any]]  # what the model of reruns expects of three ways; empty without counts and times


def calls_study_text(study: CallsStudy) -> str:
    """The tables of the source, recomputed. No newline at the end."""
    parts = (
        [f"{study['tests']} tests, {study['flaky']} flaky, {study['functions']} functions (seed {study['seed']})"],
        list(_accuracy(study["approaches"])),
        list(_folds(study["folds"])),
        list(_selection_quality(study["approaches"])),
        list(_reruns(study["reruns"])),
        *[
            list(_functions(approach))
            for approach in study["approaches"]
            if approach["name"].startswith("selected")
        ],
    )
    return "\n\n".join("\n".join(part) for part in parts if part)


def _accuracy(approaches: Sequence[CallApproach]) -> Iterator[str]:
    yield f"{'tests that call one of them (table 5.1)':<42}{'of flaky':>10}{'of all':>10}"
    for one in approaches:
        yield f"  {one['name']:<40}{_percent(one['flaky_share']):>10}{_percent(one['share']):>10}"


def _folds(folds: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not folds:
        return
    yield f"{f'held out in {len(folds)} folds (table 5.2)':<42}{'of flaky':>10}{'of all':>10}"
    for name, measure in (("least", min), ("mean", statistics.fmean), ("most", max)):
        flaky, every = (measure([fold[share] for fold in folds]) for share in ("flaky_share", "share"))
        yield f"  {name:<40}{_percent(flaky):>10}{_percent(every):>10}"


def _selection_quality(approaches: Sequence[CallApproach]) -> Iterator[str]:
    columns = ("original", "solo", "cryptic", "remaining")
    yield f"{'functions (table 5.3)':<42}" + "".join(f"{name:>10}" for name in columns)
    for one in approaches:
        counts = (one["original"], one["solo"], one["cryptic"], one["remaining"])
        yield f"  {one['name']:<40}" + "".join(f"{count:>10}" for count in counts)


def _reruns(ways: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not ways:
        return
    yield f"{'rerun, at most 170 times each':<42}{'found':>10}{'reruns':>10}{'seconds':>10}"
    for way in ways:
        yield f"  {way['way']:<40}{way['detections']:>10.1f}{way['reruns']:>10.0f}{way['time_s']:>10.0f}"


def _functions(approach: CallApproach) -> Iterator[str]:
    yield f"{approach['name']}:"
    for one in approach["functions"][:_MOST_FUNCTIONS]:
        yield f"  {one['function']:<40}  {one['cause'] or '-'}"
    left = len(approach["functions"]) - _MOST_FUNCTIONS
    if left > 0:
        yield f"  ... and {left} more"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
