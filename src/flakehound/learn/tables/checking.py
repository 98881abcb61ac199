"""Check what can be learned from a data set."""

from __future__ import annotations

from collections import Counter

from flakehound.core.errors import FailedStep, attempt
from flakehound.learn.tables.dataset import Dataset, Labels
from flakehound.learn.tables.problems import Problem


def constant_features(data: Dataset) -> tuple[str, ...]:
    """The features with only one value, which are useless to every model."""
    import numpy as np

    if not data.features:
        return ()
    ranges = np.ptp(data.values, axis=0)
    return tuple(name for name, value_range in zip(data.features, ranges, strict=True) if value_range == 0)


def positives_by_project(data: Dataset, labels: Labels) -> Counter[str]:
    """How many positive tests each project has; projects without one are left out."""
    return Counter(data.projects[labels.domain[labels.positive == 1]])


def learning_obstacle(data: Dataset, problem: Problem) -> str:
    """Why a problem cannot be learned from a data set; empty: it can."""
    labels = attempt(lambda: data.labels(problem))
    return labels.what if isinstance(labels, FailedStep) else label_obstacle(labels)


def label_obstacle(labels: Labels) -> str:
    """Why no model can be trained and evaluated with these labels; empty: one can."""
    tests, positive = len(labels.domain), int(labels.positive.sum())
    if not tests:
        return "no test is in its domain"
    if positive in (0, tests):
        return f"all {tests} tests are {'positive' if positive else 'negative'}: one class only"
    if min(positive, tests - positive) < 2:
        return "one class has a single test, which cannot be both learned from and judged by"
    return ""
