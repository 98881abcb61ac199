"""Train, predict and sweep: the front of detection and cost of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.cli.data_tables import read_table
from flakehound.cli.study_published import rerun_and_timed
from flakehound.cli.study_remedies import again
from flakehound.core.errors import UsageError
from flakehound.learn.assisted import PIPELINE, single_task
from flakehound.learn.dataset import Dataset
from flakehound.learn.extras import Array, check_installed
from flakehound.learn.pareto import Points, front, knee, original, pure_model, single_points
from flakehound.learn.problems import Problem
from flakehound.learn.samples import check_same_tests, mean_features
from flakehound.learn.seeds import seed_for
from flakehound.learn.validation import BY_CHANCE, cross_validated, learnable

SCHEMA = "flakehound/study-pareto/1"
_PROBLEMS = {"rerun": Problem.NOD_VS_REST, "classification": Problem.NOD_VS_VICTIM}


@dataclass(frozen=True, slots=True, kw_only=True)
class FrontWishes:
    """The options of `flakehound study pareto`."""

    tables: tuple[Path, ...]
    published: bool
    columns: str | None
    technique: str
    repeats: int
    most: int
    seed: int


def swept(wishes: FrontWishes, *, tell: Callable[[str], None]) -> dict[str, Any]:
    """The front and its points of interest as `flakehound/study-pareto/1`."""
    check_installed("numpy", "sklearn", "imblearn", "scipy")
    if wishes.published == bool(wishes.tables):
        raise UsageError("either --published or a table is needed", remedy=again(published=True, tables=None))
    tables = (
        [rerun_and_timed()] if wishes.published else [read_table(path, wishes.columns) for path in wishes.tables]
    )
    check_same_tests(tables)
    labels = learnable(tables[0], _PROBLEMS[wishes.technique])
    points = single_points(single_task(tables[0], labels, wishes.most), _predicted(wishes, tables, tell))
    best = front(points)
    return {
        "schema": SCHEMA,
        "table": tables[0].name,
        "technique": wishes.technique,
        "repeats": wishes.repeats,
        "seed": wishes.seed,
        "points": len(points),
        "original": _told(points, original(points)),
        "knee": _told(best, knee(best)),
        "pure_model": None if (place := pure_model(points)) is None else _told(points, place),
        "front": [_told(best, place) for place in range(len(best))],
    }


def _told(points: Points, place: int) -> dict[str, float]:
    names = ("first", "second", "samples", "detection", "cost_s")
    return {name: round(float(getattr(points, name)[place]), 6) for name in names}


def _predicted(
    wishes: FrontWishes, tables: Sequence[Dataset], tell: Callable[[str], None]
) -> Iterator[tuple[int, Array]]:
    for samples in range(1, len(tables) + 1):
        for repeat in range(wishes.repeats):
            data = mean_features(tables, samples, seed_for(wishes.seed, "samples", samples, repeat))
            found = cross_validated(
                data, _PROBLEMS[wishes.technique], PIPELINE, split=BY_CHANCE, seed=wishes.seed, repeat=repeat
            )
            tell(f"{samples} of {len(tables)} measurements, repeat {repeat + 1} of {wishes.repeats}")
            yield samples, found.probability
