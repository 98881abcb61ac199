"""How the rank of a test's duration in its suite is related to flakiness, in the tests that we measured.

Reads the table of measured tests that we ship. Every project counts once. The slope is that of the log odds over
the rank of the duration within the suite, from 0 to 1; `core/statistics/prevalence.py` uses it. In brackets: 95 %
interval of bootstrap samples of projects.

    python benchmarks/time_prior.py [--draws 300]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from prior_parts import fit_slopes

from flakehound.app.hunt.default_models import default_table
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.measured.model import balanced_weights
from flakehound.learn.measured.table import shipped_bytes
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.ranks import ranks_within_projects

KINDS = {"NOD": Problem.NOD_VS_REST, "order-dependent": Problem.VICTIM_VS_REST}
SLOWEST_SHARE = 0.4  # CALLS has a figure for this share
# Ranks are uniform from 0 to 1. With this factor they have the deviation 1 that the penalty on slopes assumes.
RANK_SCALE = 12**0.5


def slope_of(ranks: Any, positive: Any, projects: Any) -> float:
    """Slope of the log odds over the rank of the duration."""
    slopes = fit_slopes([(ranks - 0.5) * RANK_SCALE], positive, balanced_weights(positive, projects))
    return float(slopes[0]) * RANK_SCALE


def resampled_slopes(ranks: Any, positive: Any, projects: Any, draws: int) -> list[float]:
    """Sorted slopes of bootstrap samples, which draw whole projects."""
    rng, names = np.random.default_rng(1), np.unique(projects)
    rows_of = {name: np.flatnonzero(projects == name) for name in names}
    slopes = []
    for _draw in range(draws):
        drawn = rng.choice(names, len(names))
        rows = np.concatenate([rows_of[name] for name in drawn])
        project_numbers = np.concatenate([np.full(len(rows_of[name]), k) for k, name in enumerate(drawn)])
        slopes.append(slope_of(ranks[rows], positive[rows], project_numbers))
    return sorted(slopes)


def means_over_projects(ranks: Any, positive: Any, projects: Any) -> tuple[float, float, int]:
    """Mean AUC, mean share of the positive tests that are among the slowest, and the number of projects."""
    areas, shares = [], []
    for name in np.unique(projects):
        own = projects == name
        if 0 < positive[own].sum() < own.sum():
            areas.append(area_under_curve(positive[own], ranks[own]))
            shares.append(float((ranks[own][positive[own] == 1] >= 1 - SLOWEST_SHARE).mean()))
    return float(np.mean(areas)), float(np.mean(shares)), len(areas)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=300, help="bootstrap samples (default %(default)s)")
    options = parser.parse_args()
    table = default_table(shipped_bytes())
    duration_column = table.features.index("run_time_s")
    for kind, problem in KINDS.items():
        labels = table.labels(problem)
        ranks = ranks_within_projects(table)[labels.domain, duration_column]
        projects, positive = table.projects[labels.domain].astype(str), labels.positive
        slopes = resampled_slopes(ranks, positive, projects, options.draws)
        low, high = (slopes[int(share * len(slopes))] for share in (0.025, 0.975))
        area, slowest, number = means_over_projects(ranks, positive, projects)
        slope = slope_of(ranks, positive, projects)
        print(
            f"{kind}: {int(positive.sum())} tests in {number} projects; slope {slope:.2f} ({low:.2f}–{high:.2f})"
        )
        print(f"  AUC within projects {area:.2f}; {slowest:.0%} of them are among the slowest {SLOWEST_SHARE:.0%}")


if __name__ == "__main__":
    main()
