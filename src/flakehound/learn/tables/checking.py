"""What a data set holds, and what can be learned from it."""

from __future__ import annotations

from collections import Counter
from typing import Any

from flakehound.core.errors import FailedStep, attempted
from flakehound.learn.tables.dataset import Dataset, Labels
from flakehound.learn.tables.problems import Problem


def facts_of(data: Dataset) -> dict[str, Any]:
    """Sizes, exclusions, problems and doubtful features, as plain values."""
    return {
        "name": data.name,
        "tests": len(data),
        "projects": len(set(data.projects)),
        "features": list(data.features),
        "exclusions": [{"why": one.why, "rows": one.rows} for one in data.exclusions],
        "constant": _constant(data),
        "problems": [_problem(data, problem) for problem in Problem],
    }


def _constant(data: Dataset) -> list[str]:
    """Features with one value only: no model can use them."""
    import numpy as np

    if not data.features:
        return []
    spread = np.ptp(data.values, axis=0)
    return [name for name, width in zip(data.features, spread, strict=True) if width == 0]


def _problem(data: Dataset, problem: Problem) -> dict[str, Any]:
    labels = attempted(lambda: data.labels(problem))
    if isinstance(labels, FailedStep):
        return {"name": problem.value, "obstacle": labels.what}
    by_project = Counter(data.projects[labels.domain[labels.positive == 1]])
    return {
        "name": problem.value,
        "tests": len(labels.domain),
        "positive": int(labels.positive.sum()),
        "projects": len(by_project),
        "single": sum(times == 1 for times in by_project.values()),
        "obstacle": obstacle(labels),
    }


def hindrance(data: Dataset, problem: Problem) -> str:
    """Why a problem cannot be learned from a data set; empty where it can."""
    labels = attempted(lambda: data.labels(problem))
    return labels.what if isinstance(labels, FailedStep) else obstacle(labels)


def obstacle(labels: Labels) -> str:
    """Why no model can be trained and judged on these labels; empty where one can."""
    tests, positive = len(labels.domain), int(labels.positive.sum())
    if not tests:
        return "no test is in its domain"
    if positive in (0, tests):
        return f"all {tests} tests are {'positive' if positive else 'negative'}: one class only"
    if min(positive, tests - positive) < 2:
        return "one class has a single test, which cannot be both learned from and judged by"
    return ""
