"""Cross-validate a pipeline: every test is predicted by a model that never saw it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from flakehound.learn.evaluation.scores import Confusion, area_under_curve, calibration, confusion
from flakehound.learn.extras import Array
from flakehound.learn.models.pipelines import THRESHOLD, Pipeline
from flakehound.learn.models.splits import project_folds, stratified_folds
from flakehound.learn.models.voting import Vote, fit_model
from flakehound.learn.seeds import seed_for
from flakehound.learn.tables.checking import label_obstacle
from flakehound.learn.tables.dataset import Dataset, Labels, UnusableData
from flakehound.learn.tables.problems import Problem

FOLDS = 10
BY_CHANCE, BY_PROJECT = "folds", "projects"


@dataclass(frozen=True, slots=True, kw_only=True)
class Predictions:
    """A problem's tests, their labels, and what models that never saw them say."""

    labels: Labels
    projects: Array
    probability: Array  # nan where no model could be trained
    said: Array | None = None  # 0 or 1, by thresholds of their own; None: by one half
    notes: tuple[str, ...] = ()


def cross_validated(
    data: Dataset, problem: Problem, pipeline: Pipeline | Vote, *, split: str, seed: int, repeat: int = 0
) -> Predictions:
    """Predictions for every test of the problem's domain."""
    import numpy as np

    labels = learnable_labels(data, problem)
    values, positive, projects = data.values[labels.domain], labels.positive, data.projects[labels.domain]
    folds = folds_of(positive, projects, split, seed_for(seed, problem.value, split, repeat))
    probability = np.full(len(positive), np.nan)
    said = np.zeros(len(positive), dtype=int)
    notes: Counter[str] = Counter()
    for number, test in enumerate(folds):
        train = np.setdiff1d(np.arange(len(positive)), test)
        if not 0 < positive[train].sum() < len(train):
            notes["has one class only in the training part: not predicted"] += 1
            continue
        own_seed = seed_for(seed, pipeline.name, problem.value, split, repeat, number)
        model = fit_model(pipeline, values[train], positive[train], own_seed)
        probability[test] = model.probability(values[test])
        said[test] = probability[test] >= model.threshold
        notes[model.problem] += 1
    told = _told(notes, len(folds))
    return Predictions(labels=labels, projects=projects, probability=probability, said=said, notes=told)


def learnable_labels(data: Dataset, problem: Problem) -> Labels:
    """The labels of a problem; an error where nothing can be learned from them."""
    labels = data.labels(problem)
    trouble = label_obstacle(labels) or ("" if data.features else "it has no features")
    if trouble:
        raise UnusableData(f"{problem.value} cannot be learned from {data.name!r}: {trouble}")
    return labels


def folds_of(positive: Array, projects: Array, split: str, seed: int) -> list[Array]:
    """The folds of either split; an error where there is but one project."""
    if split == BY_CHANCE:
        return stratified_folds(positive, FOLDS, seed)
    folds = project_folds(projects)
    if len(folds) < 2:
        raise UnusableData(f"all tests are of the project {projects[0]!r}: none can be left out")
    return folds


def _told(notes: Counter[str], folds: int) -> tuple[str, ...]:
    return tuple(f"{times} of {folds} folds: {note}" for note, times in sorted(notes.items()) if note)


def figures_of(predicted: Predictions) -> dict[str, Any]:
    """Overall and per project: the four counts, MCC, precision, recall, F1; and AUC and calibration overall.

    `found` are the places, in the problem's domain, of the positive tests that are predicted as such.
    """
    import numpy as np

    known = ~np.isnan(predicted.probability)
    positive, probability = predicted.labels.positive[known], predicted.probability[known]
    said = (probability >= THRESHOLD).astype(int) if predicted.said is None else predicted.said[known]
    projects = predicted.projects[known]
    parts = {name: confusion(positive[projects == name], said[projects == name]) for name in sorted(set(projects))}
    return {
        **confusion_figures(sum(parts.values(), Confusion(tp=0, fp=0, fn=0, tn=0))),
        "auc": _rounded(area_under_curve(positive, probability)),
        "calibration": calibration(positive, probability),
        "projects": {name: confusion_figures(part) for name, part in parts.items()},
        "found": np.flatnonzero(known)[(positive & said) == 1].tolist(),
        "notes": list(predicted.notes),
    }


def confusion_figures(counts: Confusion) -> dict[str, Any]:
    """Counts and what follows from them; None where something is not defined."""
    found = {name: getattr(counts, name) for name in ("tp", "fp", "fn", "tn")}
    return found | {name: _rounded(getattr(counts, name)) for name in ("precision", "recall", "f1", "mcc")}


def _rounded(value: float) -> float | None:
    return None if value != value else round(float(value), 4)
