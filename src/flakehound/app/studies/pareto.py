"""Train, predict and sweep: the front of detection and cost of one table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flakehound.app.data.export import PAIR_COLUMNS
from flakehound.app.data.tables import read_table, rows_with
from flakehound.app.studies.published import rerun_and_timed
from flakehound.core.errors import UsageError, same_command
from flakehound.learn.evaluation.pareto import (
    Points,
    front,
    knee,
    original,
    pair_points,
    pure_model,
    single_points,
)
from flakehound.learn.extras import Array, requires_libraries
from flakehound.learn.measured.assisted_reruns import PIPELINE, single_task
from flakehound.learn.models.validation import BY_CHANCE, cross_validated, learnable
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.mean_features import check_same_tests, mean_features
from flakehound.learn.tables.polluter_pairs import Pair, paired_tests
from flakehound.learn.tables.problems import Problem

SCHEMA = "flakehound/study-pareto/1"
PAIRWISE = "pairwise"
_PROBLEMS = {
    "rerun": (Problem.NOD_VS_REST,),
    "classification": (Problem.NOD_VS_VICTIM,),
    PAIRWISE: (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST),
}


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
    pairs: Path | None = None  # of PAIRWISE; None: each polluter with each victim of its project


@dataclass(frozen=True, slots=True, kw_only=True)
class _Swept:
    points: Points
    about: dict[str, Any]  # what only one of the techniques has to tell
    pure_model: int | None  # place of the point where nothing is run; None where there is none


@requires_libraries("numpy", "sklearn", "imblearn", "scipy")
def swept(wishes: FrontWishes, *, tell: Callable[[str], None]) -> dict[str, Any]:
    """The front and its points of interest as `flakehound/study-pareto/1`."""
    if wishes.published == bool(wishes.tables):
        raise UsageError(
            "either --published or a table is needed",
            remedy=same_command(published=True, tables=None),
        )
    if wishes.pairs is not None and wishes.technique != PAIRWISE:
        raise UsageError(f"--pairs says nothing about {wishes.technique}", remedy=same_command(technique=PAIRWISE))
    tables = (
        [rerun_and_timed()] if wishes.published else [read_table(path, wishes.columns) for path in wishes.tables]
    )
    check_same_tests(tables)
    found = (_two_models if wishes.technique == PAIRWISE else _one_model)(wishes, tables, tell)
    points, best = found.points, front(found.points)
    return {
        "schema": SCHEMA,
        "table": tables[0].name,
        "technique": wishes.technique,
        **found.about,
        "repeats": wishes.repeats,
        "seed": wishes.seed,
        "points": len(points),
        "original": _told(points, original(points)),
        "knee": _told(best, knee(best)),
        "pure_model": None if found.pure_model is None else _told(points, found.pure_model),
        "front": [_told(best, place) for place in range(len(best))],
    }


def _one_model(wishes: FrontWishes, tables: Sequence[Dataset], tell: Callable[[str], None]) -> _Swept:
    (problem,) = _PROBLEMS[wishes.technique]
    task = single_task(tables[0], learnable(tables[0], problem), wishes.most)
    predicted = _predicted(wishes, tables, tell)
    points = single_points(task, ((samples, one) for samples, (one,) in predicted))
    return _Swept(points=points, about={}, pure_model=pure_model(points))


def _two_models(wishes: FrontWishes, tables: Sequence[Dataset], tell: Callable[[str], None]) -> _Swept:
    """Two models only choose which pairs are run, so that there is no point without a run (CANNIER §5.2.4)."""
    tables = [table.of_known_polluters() for table in tables]
    paired = paired_tests(tables[0], None if wishes.pairs is None else pairs_in(wishes.pairs))
    predicted = _predicted(wishes, tables, tell)
    points = pair_points(paired.task, ((samples, victim, polluter) for samples, (victim, polluter) in predicted))
    about = {"pairs": len(paired.task.victims), "pairs_known": paired.known, "pairs_left_out": paired.left_out}
    return _Swept(points=points, about=about, pure_model=None)


def pairs_in(path: Path) -> list[Pair]:
    """The pairs that a file tells."""
    remedy = "flakehound data export --pairs pairs.csv tests.csv"
    return [Pair(**row) for row in rows_with(path, PAIR_COLUMNS, remedy=remedy)]


def _told(points: Points, place: int) -> dict[str, float]:
    names = ("first", "second", "samples", "detection", "cost_s")
    return {name: round(float(getattr(points, name)[place]), 6) for name in names}


def _predicted(
    wishes: FrontWishes, tables: Sequence[Dataset], tell: Callable[[str], None]
) -> Iterator[tuple[int, list[Array]]]:
    """For every repeat its number of measurements, and what each of the technique's models says."""
    for samples in range(1, len(tables) + 1):
        for repeat in range(wishes.repeats):
            data = mean_features(tables, samples, seed_for(wishes.seed, "samples", samples, repeat))
            found = [_probability(wishes, data, problem, repeat) for problem in _PROBLEMS[wishes.technique]]
            tell(f"{samples} of {len(tables)} measurements, repeat {repeat + 1} of {wishes.repeats}")
            yield samples, found


def _probability(wishes: FrontWishes, data: Dataset, problem: Problem, repeat: int) -> Array:
    import numpy as np

    found = cross_validated(data, problem, PIPELINE, split=BY_CHANCE, seed=wishes.seed, repeat=repeat)
    return np.nan_to_num(found.probability, nan=1.0)  # not predicted: left to the technique
