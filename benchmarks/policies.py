"""Time until a policy finds 80 % of the NOD tests, replayed on published rates and times: index against others.

Four cost settings, two qualities of a drawn score, and the scores of lint's model; every figure is a mean over
suites with its 95 % interval. The first cost setting uses published figures of Python tests, the second our
measurements of real suites, the others figures of Java tests. Needs the published tables; FLAKEHOUND_DATA names
their folder.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from side_by_side import Row, benchmark_parser, report_results

from flakehound.app.progress import SILENT
from flakehound.app.studies.policies import PolicyStudyOptions, run_policy_study
from flakehound.report.study.policies import PolicyStudy

MAX_RATIOS = {"rerun": 0.2, "cannier": 0.5, "calls": 0.5}
COSTS = ("python", "measured", "by-kind", "alike")
REALISTIC_COSTS = ("python", "measured")
DRAWN_AUCS = (0.75, 0.9)
SETTINGS = [(costs, auc) for costs in COSTS for auc in (None, *DRAWN_AUCS)]  # None: scores of lint's model


def rows_of(study: PolicyStudy, costs: str, auc: float | None) -> list[Row]:
    """The rows of one study: index against each other policy."""
    seconds = {name: result["seconds"] for name, result in study["policies"].items()}
    setting = f"costs {costs}, " + ("scores of lint" if auc is None else f"AUC {auc}")
    is_detail = costs not in REALISTIC_COSTS or auc is not None
    return [
        _row(f"{setting}: index against {peer}", seconds["index"], seconds[peer], limit, is_detail=is_detail)
        for peer, limit in MAX_RATIOS.items()
    ]


def _row(
    job: str, ours: Sequence[float | None], peer: Sequence[float | None], limit: float, *, is_detail: bool
) -> Row:
    """The mean over the suites in which both policies find 80 %; the others are counted."""
    both = [(a, b) for a, b in zip(ours, peer, strict=True) if a is not None and b is not None]
    not_found = f", {len(ours) - len(both)} suites left out" if len(both) < len(ours) else ""
    ratios = [a / b for a, b in both]
    return Row(
        job=job,
        ours=_mean_text([a for a, _b in both], "s"),
        peer=_mean_text([b for _a, b in both], "s"),
        measured=_mean_text(ratios, "×") + not_found,
        goal=f"≤ {limit:g} ×",
        met=statistics.mean(ratios) <= limit,
        is_detail=is_detail,
    )


def _mean_text(values: Sequence[float], unit: str) -> str:
    """Format as `mean unit (95 % interval of the mean)`."""
    mean = statistics.mean(values)
    half = 1.96 * statistics.stdev(values) / len(values) ** 0.5
    low, middle, high = (
        f"{value:.0f}" if mean >= 100 else f"{value:.2f}" for value in (mean - half, mean, mean + half)
    )
    return f"{middle} {unit} ({low}–{high})"


def main() -> None:
    options = benchmark_parser(__doc__ or "", repeats=20).parse_args()
    rows = []
    for costs, auc in SETTINGS:
        study = PolicyStudyOptions(
            seeds=options.repeats,
            auc=DRAWN_AUCS[0] if auc is None else auc,
            costs=costs,
            flaky=100,
            share=0.01,
            seed=1,
            scores="lint" if auc is None else "drawn",
        )
        rows += rows_of(run_policy_study(study, SILENT), costs, auc)
    report_results(rows, options.json)


if __name__ == "__main__":
    main()
