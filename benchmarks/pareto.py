"""The whole threshold sweep of CANNIER: 78,766 single-model and 153,001 two-model points, 30 repeats, 30 projects.

The numbers of tests, NOD tests, victims, polluters and pairs are those of table 3 of the paper; probabilities and
costs are drawn at random. Both Pareto fronts are computed for every project and for all together, in one process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from side_by_side import Series, benchmark_parser, limit_row, report_results

from flakehound.learn.evaluation.pareto import (
    PairTask,
    SingleTask,
    SweepPoints,
    knee_index,
    pair_points,
    pareto_front,
    single_points,
)
from flakehound.learn.tables.published_projects import PublishedProject, published_projects

MAX_SAMPLES, TRAINING_REPEATS = 15, 30  # MAX_SAMPLES is the paper's n_F
LIMIT_S = 120.0
Probabilities = Callable[[], Iterator[tuple[int, np.ndarray]]]


def probabilities(positive: np.ndarray, seed: int) -> Probabilities:
    """Draw probabilities like those of a forest of 100 trees; the measured time includes the drawing."""

    def draw() -> Iterator[tuple[int, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for samples in range(1, MAX_SAMPLES + 1):
            for _repeat in range(TRAINING_REPEATS):
                chance = rng.random(len(positive), dtype=np.float32) ** np.where(positive, 1, 8)
                yield samples, np.round(chance, 2)

    return draw


def positive_labels(tests: int, positive: int) -> np.ndarray:
    """Labels of which the first `positive` are 1."""
    return (np.arange(tests) < positive).astype(int)


def sweep(project: PublishedProject, seed: int) -> list[SweepPoints]:
    """The points of both sweeps for a project of the published size."""
    rng = np.random.default_rng(seed)
    cost_s = rng.lognormal(0, 2, project.tests)
    cost_s *= project.cost_s / cost_s.sum()
    nod = positive_labels(project.tests, project.nod)
    single = SingleTask(positive=nod, technique_s=2500 * cost_s, suite_s=project.cost_s)
    victims = positive_labels(project.tests, project.victims)
    polluters = positive_labels(project.tests, project.polluters)
    pairs = PairTask(
        cost_s=cost_s,
        victims=rng.integers(0, max(1, project.victims), project.pairs),
        polluters=rng.integers(0, max(1, project.polluters), project.pairs),
    )
    both = (
        (samples, v, p)
        for (samples, v), (_same, p) in zip(
            probabilities(victims, seed)(), probabilities(polluters, seed + 1)(), strict=True
        )
    )
    return [single_points(single, probabilities(nod, seed)()), pair_points(pairs, both)]


def sum_of(rows: tuple[PublishedProject, ...]) -> PublishedProject:
    """One project with the sizes of all projects together."""
    sums = {
        name: sum(getattr(row, name) for row in rows)
        for name in PublishedProject.__dataclass_fields__
        if name != "project"
    }
    return PublishedProject(project="all", **sums)


def main() -> None:
    parser: argparse.ArgumentParser = benchmark_parser(__doc__ or "", repeats=1)
    options = parser.parse_args()
    took_s = []
    for turn in range(options.repeats):
        began = time.perf_counter()
        projects = published_projects()
        for number, project in enumerate([*projects, sum_of(projects)]):
            points = sweep(project, seed=1000 * turn + number)
            for sweep_points in points:
                if not np.isnan(sweep_points.detection).all():
                    knee_index(pareto_front(sweep_points))
        took_s.append(time.perf_counter() - began)
        print(f"  turn {turn + 1}: {took_s[-1]:.1f} s, {list(map(len, points))} points", flush=True)
    took = Series(values=tuple(took_s))
    n_single, n_pair = map(len, points)
    job = f"{n_single:,} + {n_pair:,} points, {TRAINING_REPEATS} repeats, 30 projects and all together"
    row = limit_row(job, ours=took.text(), peer="–", figure=took, limit=LIMIT_S, unit="s")
    report_results([row], options.json)


if __name__ == "__main__":
    main()
