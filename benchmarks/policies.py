"""How long each policy of a search takes to find 80 % of the NOD tests, replayed on published rates and times.

Four cost settings, two qualities of a drawn score, and the scores of lint's model; every figure is a mean over
suites with its 95 % interval. The first cost setting is after published figures on Python tests, the second what
we measured of real suites, the others are Java's. Needs the published tables; FLAKEHOUND_DATA names their folder.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from typing import Any

from side_by_side import Row, arguments, told

from flakehound.app.progress import SILENT
from flakehound.app.studies.policies import PolicyStudyOptions, run_policy_study

GOALS = {"rerun": 0.2, "cannier": 0.5, "calls": 0.5}
COSTS = ("python", "measured", "by-kind", "alike")
SETTINGS = [(costs, auc) for costs in COSTS for auc in (None, 0.75, 0.9)]


def rows_of(found: dict[str, Any], costs: str, auc: float | None) -> list[Row]:
    seconds = {name: one["seconds"] for name, one in found["policies"].items()}
    setting = f"costs {costs}, " + ("scores of lint" if auc is None else f"AUC {auc}")
    return [_row(setting, seconds["index"], seconds[peer], peer, GOALS[peer]) for peer in GOALS]


def _row(setting: str, ours: Sequence[float | None], peer: Sequence[float | None], name: str, limit: float) -> Row:
    """A suite counts where both found 80 %; how many do not is told."""
    both = [(a, b) for a, b in zip(ours, peer, strict=True) if a is not None and b is not None]
    lost = f", {len(ours) - len(both)} suites where one never does" if len(both) < len(ours) else ""
    ratios = [a / b for a, b in both]
    return Row(
        job=f"80 % of the NOD tests, {setting}: index against {name}",
        ours=_mean([a for a, _b in both], "s"),
        peer=_mean([b for _a, b in both], "s"),
        measured=_mean(ratios, "×") + lost,
        goal=f"≤ {limit:g} ×",
        met=statistics.mean(ratios) <= limit,
    )


def _mean(values: Sequence[float], unit: str) -> str:
    """`mean unit (95 % interval of the mean)`."""
    mean = statistics.mean(values)
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5
    low, middle, high = (
        f"{value:.0f}" if mean >= 100 else f"{value:.2f}" for value in (mean - half, mean, mean + half)
    )
    return f"{middle} {unit} ({low}–{high})"


def main() -> None:
    given = arguments(__doc__ or "", repeats=20).parse_args()
    rows = []
    for costs, auc in SETTINGS:
        options = PolicyStudyOptions(seeds=given.repeats, auc=auc, costs=costs, flaky=100, share=0.01, seed=1)
        rows += rows_of(run_policy_study(options, SILENT), costs, auc)
    told(rows, given.json)


if __name__ == "__main__":
    main()
