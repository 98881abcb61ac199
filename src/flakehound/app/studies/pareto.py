"""`flakehound study pareto`: train models on a table, predict its tests, and sweep the thresholds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from flakehound.app.data.export import PAIR_COLUMNS
from flakehound.app.data.tables import read_rows, read_table
from flakehound.app.progress import Progress
from flakehound.app.studies.published import rerun_java_tests
from flakehound.core.errors import UsageError, same_command
from flakehound.learn.evaluation.pareto import (
    SweepPoints,
    knee_index,
    model_alone_index,
    pair_points,
    pareto_front,
    single_points,
    technique_alone_index,
)
from flakehound.learn.extras import Array, requires_libraries
from flakehound.learn.measured.assisted_reruns import PIPELINE, single_task
from flakehound.learn.models.validation import BY_CHANCE, cross_validate, learnable_labels
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.dataset import Dataset
from flakehound.learn.tables.mean_features import check_same_tests, mean_features
from flakehound.learn.tables.polluter_pairs import Pair, paired_tests
from flakehound.learn.tables.problems import Problem
from flakehound.report.study.pareto import PairFigures, ParetoPoint, ParetoStudy

SCHEMA = "flakehound/study-pareto/1"
PAIRWISE = "pairwise"
_PROBLEMS = {
    "rerun": (Problem.NOD_VS_REST,),
    "classification": (Problem.NOD_VS_VICTIM,),
    PAIRWISE: (Problem.VICTIM_VS_REST, Problem.POLLUTER_VS_REST),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ParetoStudyOptions:
    """The options of `flakehound study pareto`."""

    tables: tuple[Path, ...]
    published: bool
    columns: str | None
    technique: str
    repeats: int
    most: int
    seed: int
    pairs: Path | None = None  # for `pairwise`; None: each polluter with each victim of its project


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sweep:
    points: SweepPoints
    pairs: PairFigures  # empty unless pairs were swept
    model_alone: int | None  # index of the point where no test is run; None if there is none


@requires_libraries("numpy", "sklearn", "imblearn", "scipy")
def run_pareto_study(options: ParetoStudyOptions, progress: Progress) -> ParetoStudy:
    """The front and its points of interest as `flakehound/study-pareto/1`."""
    if options.published == bool(options.tables):
        raise UsageError(
            "either --published or a table is needed",
            remedy=same_command(published=True, tables=None),
        )
    if options.pairs is not None and options.technique != PAIRWISE:
        raise UsageError(
            f"--pairs says nothing about {options.technique}", remedy=same_command(technique=PAIRWISE)
        )
    tables = (
        [rerun_java_tests()]
        if options.published
        else [read_table(path, options.columns) for path in options.tables]
    )
    check_same_tests(tables)
    sweep = (_sweep_two_models if options.technique == PAIRWISE else _sweep_one_model)(options, tables, progress)
    points, front = sweep.points, pareto_front(sweep.points)
    return {
        "schema": SCHEMA,
        "table": tables[0].name,
        "technique": options.technique,
        **sweep.pairs,
        "repeats": options.repeats,
        "seed": options.seed,
        "points": len(points),
        "original": _point(points, technique_alone_index(points)),
        "knee": _point(front, knee_index(front)),
        "pure_model": None if sweep.model_alone is None else _point(points, sweep.model_alone),
        "front": [_point(front, index) for index in range(len(front))],
    }


def _sweep_one_model(options: ParetoStudyOptions, tables: Sequence[Dataset], progress: Progress) -> _Sweep:
    (problem,) = _PROBLEMS[options.technique]
    task = single_task(tables[0], learnable_labels(tables[0], problem), options.most)
    predictions = _predict(options, tables, progress)
    points = single_points(task, ((samples, probability) for samples, (probability,) in predictions))
    return _Sweep(points=points, pairs={}, model_alone=model_alone_index(points))


def _sweep_two_models(options: ParetoStudyOptions, tables: Sequence[Dataset], progress: Progress) -> _Sweep:
    """Two models only choose which pairs are run, so no point has a model decide alone (CANNIER §5.2.4)."""
    tables = [table.with_known_polluters() for table in tables]
    paired = paired_tests(tables[0], None if options.pairs is None else read_pairs(options.pairs))
    predictions = _predict(options, tables, progress)
    points = pair_points(paired.task, ((samples, victim, polluter) for samples, (victim, polluter) in predictions))
    pairs: PairFigures = {
        "pairs": len(paired.task.victims),
        "pairs_known": paired.known,
        "pairs_left_out": paired.left_out,
    }
    return _Sweep(points=points, pairs=pairs, model_alone=None)


def read_pairs(path: Path) -> list[Pair]:
    """The victims and polluters in a file."""
    remedy = "flakehound data export --pairs pairs.csv tests.csv"
    return [Pair(**row) for row in read_rows(path, PAIR_COLUMNS, remedy=remedy)]


def _point(points: SweepPoints, index: int) -> ParetoPoint:
    return {
        "first": _rounded(points.first[index]),
        "second": _rounded(points.second[index]),
        "samples": _rounded(points.samples[index]),
        "detection": _rounded(points.detection[index]),
        "cost_s": _rounded(points.cost_s[index]),
    }


def _rounded(value: float) -> float:
    return round(float(value), 6)


def _predict(
    options: ParetoStudyOptions, tables: Sequence[Dataset], progress: Progress
) -> Iterator[tuple[int, list[Array]]]:
    """For every repeat, its number of measurements, and the probabilities by each model of the technique."""
    for samples in range(1, len(tables) + 1):
        for repeat in range(options.repeats):
            data = mean_features(tables, samples, seed_for(options.seed, "samples", samples, repeat))
            problems = _PROBLEMS[options.technique]
            probabilities = [_probability(options, data, problem, repeat) for problem in problems]
            progress.message(f"{samples} of {len(tables)} measurements, repeat {repeat + 1} of {options.repeats}")
            done = (samples - 1) * options.repeats + repeat + 1
            progress.show_steps("repeats", done, len(tables) * options.repeats)
            yield samples, probabilities


def _probability(options: ParetoStudyOptions, data: Dataset, problem: Problem, repeat: int) -> Array:
    import numpy as np

    predictions = cross_validate(data, problem, PIPELINE, split=BY_CHANCE, seed=options.seed, repeat=repeat)
    return np.nan_to_num(predictions.probability, nan=1.0)  # not predicted: left to the technique
