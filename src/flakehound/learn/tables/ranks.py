"""Ranks of feature values: unlike values, they are comparable between machines and between projects."""

from __future__ import annotations

from flakehound.learn.extras import Array
from flakehound.learn.tables.dataset import Dataset


def ranks_in_suite(values: Array) -> Array:
    """For each feature, the rank of every test among these tests, scaled to 0…1."""
    from scipy.stats import rankdata

    ranks: Array = rankdata(values, axis=0)
    return (ranks - 0.5) / max(1, len(values))


def ranks_within_projects(data: Dataset) -> Array:
    """For each feature, the rank of every test among the tests of its project, scaled to 0…1."""
    import numpy as np

    ranks = np.empty_like(data.values)
    for name in set(data.projects):
        is_of_project = data.projects == name
        ranks[is_of_project] = ranks_in_suite(data.values[is_of_project])
    return ranks
