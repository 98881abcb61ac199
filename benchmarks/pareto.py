"""The whole sweep of CANNIER: 78,766 single-model and 153,001 two-model points, 30 repeats, 30 projects.

Tests, NOD tests, victims, polluters and pairs are as many as the source's table 3 says; probabilities and costs
are drawn. Both fronts are made for every project and for all together. One process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
from side_by_side import Series, arguments, at_most, told

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

SAMPLES, REPEATS = 15, 30  # n_F, and repeats of training
LIMIT_S = 120.0
Drawn = Callable[[], Iterator[tuple[int, np.ndarray]]]


def probabilities(positive: np.ndarray, seed: int) -> Drawn:
    """As a forest of 100 trees would give them; drawn anew each time, which the measured time includes."""

    def drawn() -> Iterator[tuple[int, np.ndarray]]:
        rng = np.random.default_rng(seed)
        for samples in range(1, SAMPLES + 1):
            for _repeat in range(REPEATS):
                chance = rng.random(len(positive), dtype=np.float32) ** np.where(positive, 1, 8)
                yield samples, np.round(chance, 2)

    return drawn


def labels(tests: int, positive: int) -> np.ndarray:
    return (np.arange(tests) < positive).astype(int)


def swept(project: PublishedProject, seed: int) -> list[SweepPoints]:
    """Both fronts of a project that has the published sizes."""
    rng = np.random.default_rng(seed)
    cost_s = rng.lognormal(0, 2, project.tests)
    cost_s *= project.cost_s / cost_s.sum()
    nod = labels(project.tests, project.nod)
    single = SingleTask(positive=nod, technique_s=2500 * cost_s, suite_s=project.cost_s)
    victims = labels(project.tests, project.victims)
    polluters = labels(project.tests, project.polluters)
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


def whole(rows: tuple[PublishedProject, ...]) -> PublishedProject:
    """All projects as one."""
    summed = {
        name: sum(getattr(row, name) for row in rows)
        for name in PublishedProject.__dataclass_fields__
        if name != "project"
    }
    return PublishedProject(project="all", **summed)


def main() -> None:
    parser: argparse.ArgumentParser = arguments(__doc__ or "", repeats=1)
    given = parser.parse_args()
    took_s = []
    for turn in range(given.repeats):
        began = time.perf_counter()
        projects = published_projects()
        for number, project in enumerate([*projects, whole(projects)]):
            points = swept(project, seed=1000 * turn + number)
            for one in points:
                if not np.isnan(one.detection).all():
                    knee_index(pareto_front(one))
        took_s.append(time.perf_counter() - began)
        print(f"  turn {turn + 1}: {took_s[-1]:.1f} s, {[len(one) for one in points]} points", flush=True)
    found = Series(values=tuple(took_s))
    job = f"{len(points[0]):,} + {len(points[1]):,} points, {REPEATS} repeats, 30 projects and all together"
    told([at_most(job, ours=found.text(), peer="–", figure=found, limit=LIMIT_S, unit="s")], given.json)


if __name__ == "__main__":
    main()
