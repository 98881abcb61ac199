"""What the time a test takes, beside the others of its suite, says about its being flaky.

Reads the table of measured tests that we ship. Every project counts once; the slope is that of the log odds over
the rank of the time within the suite, from 0 to 1, and `core/statistics/prevalence.py` has it.
In brackets 95 %, projects drawn again.

    python benchmarks/time_prior.py [--draws 300]
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from prior_parts import slopes

from flakehound.app.hunt.default_models import default_table
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.measured.model import balanced_weights
from flakehound.learn.measured.table import shipped_bytes
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.ranks import ranks_within_projects

KINDS = {"NOD": Problem.NOD_VS_REST, "order-dependent": Problem.VICTIM_VS_REST}
DEAREST = 0.4  # CALLS has a figure for these


# Ranks are even from 0 to 1: times this they have the deviation 1, for which the slope is held back.
SPREAD = 12**0.5


def slope_of(ranks: Any, positive: Any, projects: Any) -> float:
    found = slopes([(ranks - 0.5) * SPREAD], positive, balanced_weights(positive, projects))
    return float(found[0]) * SPREAD


def drawn_again(ranks: Any, positive: Any, projects: Any, draws: int) -> list[float]:
    rng, names = np.random.default_rng(1), np.unique(projects)
    places = {name: np.flatnonzero(projects == name) for name in names}
    found = []
    for _draw in range(draws):
        chosen = rng.choice(names, len(names))
        at = np.concatenate([places[name] for name in chosen])
        turns = np.concatenate([np.full(len(places[name]), turn) for turn, name in enumerate(chosen)])
        found.append(slope_of(ranks[at], positive[at], turns))
    return sorted(found)


def within(ranks: Any, positive: Any, projects: Any) -> tuple[float, float, int]:
    """Means over projects: of the AUC, and of the share of positive tests among the dearest."""
    areas, shares = [], []
    for name in np.unique(projects):
        own = projects == name
        if 0 < positive[own].sum() < own.sum():
            areas.append(area_under_curve(positive[own], ranks[own]))
            shares.append(float((ranks[own][positive[own] == 1] >= 1 - DEAREST).mean()))
    return float(np.mean(areas)), float(np.mean(shares)), len(areas)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--draws", type=int, default=300, help="times the projects are drawn (default %(default)s)"
    )
    asked = parser.parse_args()
    table = default_table(shipped_bytes())
    place = table.features.index("run_time_s")
    for kind, problem in KINDS.items():
        labels = table.labels(problem)
        ranks = ranks_within_projects(table)[labels.domain, place]
        projects, positive = table.projects[labels.domain].astype(str), labels.positive
        spread = drawn_again(ranks, positive, projects, asked.draws)
        low, high = (spread[int(share * len(spread))] for share in (0.025, 0.975))
        area, dearest, number = within(ranks, positive, projects)
        slope = slope_of(ranks, positive, projects)
        print(
            f"{kind}: {int(positive.sum())} tests in {number} projects; slope {slope:.2f} ({low:.2f}–{high:.2f})"
        )
        print(f"  AUC within projects {area:.2f}; {dearest:.0%} of them are among the dearest {DEAREST:.0%}")


if __name__ == "__main__":
    main()
