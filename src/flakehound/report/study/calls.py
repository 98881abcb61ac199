"""A study of calls as tables: which functions mark flaky tests, and what that saves."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

_MOST_FUNCTIONS = 30


def calls_study_text(told: Mapping[str, Any]) -> str:
    """The tables of the source, recomputed. No newline at the end."""
    parts = (
        [f"{told['tests']} tests, {told['flaky']} flaky, {told['functions']} functions (seed {told['seed']})"],
        list(_accuracy(told["approaches"])),
        list(_folds(told["folds"])),
        list(_sense(told["approaches"])),
        list(_reruns(told["reruns"])),
        *[
            list(_functions(approach))
            for approach in told["approaches"]
            if approach["name"].startswith("selected")
        ],
    )
    return "\n\n".join("\n".join(part) for part in parts if part)


def _accuracy(approaches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
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


def _sense(approaches: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    columns = ("original", "solo", "cryptic", "remaining")
    yield f"{'functions (table 5.3)':<42}" + "".join(f"{name:>10}" for name in columns)
    for one in approaches:
        yield f"  {one['name']:<40}" + "".join(f"{one[name]:>10}" for name in columns)


def _reruns(ways: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if not ways:
        return
    yield f"{'rerun, at most 170 times each':<42}{'found':>10}{'reruns':>10}{'seconds':>10}"
    for way in ways:
        yield f"  {way['way']:<40}{way['detections']:>10.1f}{way['reruns']:>10.0f}{way['time_s']:>10.0f}"


def _functions(approach: Mapping[str, Any]) -> Iterator[str]:
    yield f"{approach['name']}:"
    for one in approach["functions"][:_MOST_FUNCTIONS]:
        yield f"  {one['function']:<40}  {one['cause'] or '-'}"
    left = len(approach["functions"]) - _MOST_FUNCTIONS
    if left > 0:
        yield f"  ... and {left} more"


def _percent(share: float) -> str:
    return f"{share * 100:.1f} %"
