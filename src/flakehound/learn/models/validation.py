"""Cross-validate a pipeline: every test is predicted by a model that was not trained on it."""

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
    """The tests of a problem, their labels, and predictions by models that were not trained on them."""

    labels: Labels
    projects: Array
    probability: Array  # nan if no model could be trained
    predicted: Array | None = None  # 0 or 1, by the thresholds of the models; None: by one half
    notes: tuple[str, ...] = ()


def cross_validate(
    data: Dataset, problem: Problem, pipeline: Pipeline | Vote, *, split: str, seed: int, repeat: int = 0
) -> Predictions:
    """Predict every test of the problem's domain."""
    import numpy as np

    labels = learnable_labels(data, problem)
    values, positive, projects = data.values[labels.domain], labels.positive, data.projects[labels.domain]
    folds = folds_of(positive, projects, split, seed_for(seed, problem.value, split, repeat))
    probability = np.full(len(positive), np.nan)
    predicted = np.zeros(len(positive), dtype=int)
    notes: Counter[str] = Counter()
    for number, test in enumerate(folds):
        train = np.setdiff1d(np.arange(len(positive)), test)
        if not 0 < positive[train].sum() < len(train):
            notes["has one class only in the training part: not predicted"] += 1
            continue
        own_seed = seed_for(seed, pipeline.name, problem.value, split, repeat, number)
        model = fit_model(pipeline, values[train], positive[train], own_seed)
        probability[test] = model.probability(values[test])
        predicted[test] = probability[test] >= model.threshold
        notes[model.problem] += 1
    return Predictions(
        labels=labels,
        projects=projects,
        probability=probability,
        predicted=predicted,
        notes=_note_lines(notes, len(folds)),
    )


def learnable_labels(data: Dataset, problem: Problem) -> Labels:
    """The labels of a problem; raises UnusableData if nothing can be learned from them."""
    labels = data.labels(problem)
    obstacle = label_obstacle(labels) or ("" if data.features else "it has no features")
    if obstacle:
        raise UnusableData(f"{problem.value} cannot be learned from {data.name!r}: {obstacle}")
    return labels


def folds_of(positive: Array, projects: Array, split: str, seed: int) -> list[Array]:
    """The folds of a split; raises UnusableData if projects are to be left out and there is only one."""
    if split == BY_CHANCE:
        return stratified_folds(positive, FOLDS, seed)
    folds = project_folds(projects)
    if len(folds) < 2:
        raise UnusableData(f"all tests are of the project {projects[0]!r}: none can be left out")
    return folds


def _note_lines(notes: Counter[str], folds: int) -> tuple[str, ...]:
    return tuple(f"{times} of {folds} folds: {note}" for note, times in sorted(notes.items()) if note)


def figures_of(predictions: Predictions) -> dict[str, Any]:
    """Overall and per project: confusion matrix, MCC, precision, recall and F1; overall also AUC and calibration.

    `found` has the rows, in the problem's domain, of the positive tests that are predicted as positive. Plain
    values for JSON.
    """
    import numpy as np

    known = ~np.isnan(predictions.probability)
    positive, probability = predictions.labels.positive[known], predictions.probability[known]
    if predictions.predicted is None:
        predicted = (probability >= THRESHOLD).astype(int)
    else:
        predicted = predictions.predicted[known]
    projects = predictions.projects[known]
    by_project = {
        name: confusion(positive[projects == name], predicted[projects == name]) for name in sorted(set(projects))
    }
    return {
        **confusion_figures(sum(by_project.values(), Confusion(tp=0, fp=0, fn=0, tn=0))),
        "auc": _rounded(area_under_curve(positive, probability)),
        "calibration": calibration(positive, probability),
        "projects": {name: confusion_figures(counts) for name, counts in by_project.items()},
        "found": np.flatnonzero(known)[(positive & predicted) == 1].tolist(),
        "notes": list(predictions.notes),
    }


def confusion_figures(counts: Confusion) -> dict[str, Any]:
    """The counts and the scores that follow from them; None if a score is undefined."""
    figures = {name: getattr(counts, name) for name in ("tp", "fp", "fn", "tn")}
    return figures | {name: _rounded(getattr(counts, name)) for name in ("precision", "recall", "f1", "mcc")}


def _rounded(value: float) -> float | None:
    """A plain number; None for nan."""
    return None if value != value else round(float(value), 4)
