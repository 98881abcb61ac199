"""What can be learned from a data set, and what cannot."""

from __future__ import annotations

from collections import Counter

from flakehound.core.errors import FailedStep, attempt
from flakehound.learn.tables.dataset import Dataset, Labels
from flakehound.learn.tables.problems import Problem


def constant_features(data: Dataset) -> tuple[str, ...]:
    """Features with one value only, which no model can use."""
    import numpy as np

    if not data.features:
        return ()
    widths = np.ptp(data.values, axis=0)
    return tuple(name for name, width in zip(data.features, widths, strict=True) if width == 0)


def positives_by_project(data: Dataset, labels: Labels) -> Counter[str]:
    """How many positive tests each project has that has any."""
    return Counter(data.projects[labels.domain[labels.positive == 1]])


def learning_obstacle(data: Dataset, problem: Problem) -> str:
    """Why a problem cannot be learned from a data set; empty where it can."""
    labels = attempt(lambda: data.labels(problem))
    return labels.what if isinstance(labels, FailedStep) else label_obstacle(labels)


def label_obstacle(labels: Labels) -> str:
    """Why no model can be trained and judged on these labels; empty where one can."""
    tests, positive = len(labels.domain), int(labels.positive.sum())
    if not tests:
        return "no test is in its domain"
    if positive in (0, tests):
        return f"all {tests} tests are {'positive' if positive else 'negative'}: one class only"
    if min(positive, tests - positive) < 2:
        return "one class has a single test, which cannot be both learned from and judged by"
    return ""
