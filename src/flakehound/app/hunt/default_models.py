"""The default models of `hunt --policy cannier`: fitted once on the table we ship, then cached."""

from __future__ import annotations

from dataclasses import replace
from hashlib import blake2b
from importlib import resources
from pathlib import Path

from flakehound.app.hunt.selection_models import PAIR_PROBLEMS, CandidateModel, SelectionModels, ThresholdModel
from flakehound.app.lint.model_file import user_cache_folder, write_cache_file
from flakehound.core.errors import FailedStep
from flakehound.learn.evaluation.scores import area_under_curve
from flakehound.learn.measured.assisted_reruns import Aim, Sweep, lowest_candidate_probability, sweep_predictions
from flakehound.learn.measured.model import MeasuredModels, fit_measured_models, from_json, to_json
from flakehound.learn.measured.table import shipped_bytes, unpack_table
from flakehound.learn.tables.column_mapping import KNOWN_MAPPINGS
from flakehound.learn.tables.dataset import Dataset, UnusableData
from flakehound.learn.tables.problems import Problem
from flakehound.learn.tables.reading import dataset_from

# Code that the fitted models depend on: an edit makes the cache of older fits invalid.
_FITTING = ("measured/model.py", "measured/table.py", "tables/problems.py", "tables/ranks.py", "tables/reading.py")
_NAME = "the default table"
# A model may say "NOD" or "victim" without a run that proves it if its table has at least so many NOD tests and
# its AUC in projects that were left out of its fit is at least this (decision 0026).
MIN_NOD_TESTS, MIN_AUC = 40, 0.75


def default_selection_models(
    aim: Aim, *, absent: frozenset[str] = frozenset(), folder: Path | None = None
) -> SelectionModels:
    """The models of the shipped table without `absent` features; thresholds by projects left out of the fit."""
    data, models = _fitted_or_cached(absent, folder)
    assert models is not None
    return with_thresholds(data, models, aim, _note(data, absent))


def with_thresholds(data: Dataset, models: MeasuredModels, aim: Aim, note: str) -> SelectionModels:
    """Set thresholds. A model that is not good at unseen projects only says which tests not to rerun."""
    import numpy as np

    relative = _with_relative_costs(data)
    unseen = {problem: np.array(model.unseen_probabilities) for problem, model in models.models.items()}
    sweep = sweep_predictions(relative, Problem.NOD_VS_REST, unseen[Problem.NOD_VS_REST])
    reruns = (sweep if _needs_no_proof(sweep) else sweep.without_assumed_positives()).thresholds(aim)
    kinds_sweep = sweep_predictions(relative, Problem.NOD_VS_VICTIM, unseen[Problem.NOD_VS_VICTIM])
    kinds: ThresholdModel | FailedStep = FailedStep(
        what="the models are not good enough to tell kinds without runs"
    )
    if _needs_no_proof(kinds_sweep):
        kinds = ThresholdModel(model=models.models[Problem.NOD_VS_VICTIM], thresholds=kinds_sweep.thresholds(aim))
    return SelectionModels(
        features=data.features,
        reruns=ThresholdModel(model=models.models[Problem.NOD_VS_REST], thresholds=reruns),
        kinds=kinds,
        pairs={
            problem: CandidateModel(
                model=models.models[problem],
                min_probability=lowest_candidate_probability(data, problem, unseen[problem]),
            )
            for problem in PAIR_PROBLEMS
        },
        note=note,
    )


def _needs_no_proof(sweep: Sweep) -> bool:
    good = area_under_curve(sweep.positive, sweep.probability) >= MIN_AUC
    return good and int(sweep.positive.sum()) >= MIN_NOD_TESTS


def _with_relative_costs(data: Dataset) -> Dataset:
    """Divide the cost of each test by the mean cost in its suite.

    Otherwise one suite whose tests take minutes would alone determine the thresholds.
    """
    import numpy as np

    _names, project = np.unique(data.projects.astype(str), return_inverse=True)
    mean_s = np.bincount(project, weights=data.cost_s) / np.bincount(project)
    return replace(data, cost_s=data.cost_s / np.maximum(mean_s[project], 1e-9))


def default_models(
    absent: frozenset[str] = frozenset(), *, may_fit: bool = True, folder: Path | None = None
) -> MeasuredModels | None:
    """The models of the shipped table without `absent` features; None: none is cached and none may be fitted."""
    return _fitted_or_cached(absent, folder, may_fit=may_fit)[1]


def default_table(packed: bytes, absent: frozenset[str] = frozenset()) -> Dataset:
    """The tests of the shipped table, without the `absent` features."""
    rows, _pairs = unpack_table(packed)
    data = dataset_from(_NAME, list(rows[0]), rows, KNOWN_MAPPINGS["flakehound"])
    return data.with_features([name for name in data.features if name not in absent])


def _note(data: Dataset, absent: frozenset[str]) -> str:
    without = f", without {', '.join(sorted(absent))}, which this suite lacks" if absent else ""
    return (
        f"model: learned from {len(data)} tests of {len(set(data.projects))} other projects{without}; "
        "its figures are of projects that it had not seen"
    )


def _fitted_or_cached(
    absent: frozenset[str], folder: Path | None, *, may_fit: bool = True
) -> tuple[Dataset, MeasuredModels | None]:
    """The table and its models; from the cache if the same code has fitted the same table before."""
    packed = shipped_bytes()
    data, cache_folder = default_table(packed, absent), folder or user_cache_folder()
    file = cache_folder / f"cannier-{_digest(packed, data.features)}.json" if cache_folder else None
    models = _read_cache(file, data)
    if models is None and may_fit:
        models = fit_measured_models(data)
        write_cache_file(file, to_json(models))
    return data, models


def _digest(packed: bytes, features: tuple[str, ...]) -> str:
    digest = blake2b(digest_size=16)
    folder = resources.files("flakehound.learn")
    for content in (*((folder / name).read_bytes() for name in _FITTING), packed, *map(str.encode, features)):
        digest.update(len(content).to_bytes(8, "little"))
        digest.update(content)
    return digest.hexdigest()


def _read_cache(file: Path | None, data: Dataset) -> MeasuredModels | None:
    """The cached models; None where the file is missing, damaged or about another table."""
    try:
        found = from_json(file.read_text(encoding="utf-8")) if file else None
    except (OSError, UnicodeDecodeError, UnusableData):
        return None
    if found is None or found.features != data.features:
        return None
    is_complete = all(
        len(model.unseen_probabilities) == len(data.labels(problem).domain)
        for problem, model in found.models.items()
    )
    return found if is_complete else None
