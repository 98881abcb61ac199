"""How policies of a search compare, as text; takes the `flakehound/study-policies/1` object."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from flakehound.report.learn_tables import markdown

_PEERS = ("rerun", "cannier", "calls")


def policy_lines(told: Mapping[str, Any]) -> Iterator[str]:
    """Mean times, and ratios to the peers turn by turn with a 95 % interval."""
    java = told["counts"] == "java"
    about = "true shares and costs" if java else f"{told['share']:.1%} of all; costs {told['costs']}"
    suites = f"{told['seeds']} suites of {told['flaky']} NOD tests ({told['counts']})"
    yield f"{suites}, {about}; score of AUC {told['auc']}; seed {told['seed']}"
    yield ""
    seconds = {name: one["seconds"] for name, one in told["policies"].items()}
    head = ["policy", f"s until {told['found']:.0%} are found", *(f"against {peer}" for peer in _PEERS)]
    rows = [[name, _mean(found), *(_ratio(found, seconds[p]) for p in _PEERS)] for name, found in seconds.items()]
    yield from markdown(head, rows)


def _mean(values: Sequence[float | None]) -> str:
    known = [value for value in values if value is not None]
    missing = f", never in {len(values) - len(known)}" if len(known) < len(values) else ""
    return (f"{statistics.mean(known):.0f}" if known else "–") + missing


def _ratio(ours: Sequence[float | None], peer: Sequence[float | None]) -> str:
    found = [a / b for a, b in zip(ours, peer, strict=True) if a is not None and b is not None]
    if len(found) < 2:
        return "–"
    half = 1.96 * statistics.stdev(found) / len(found) ** 0.5
    return (
        f"{statistics.mean(found):.2f} ({statistics.mean(found) - half:.2f}–{statistics.mean(found) + half:.2f})"
    )
