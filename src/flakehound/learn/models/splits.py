"""Split tests into folds: at random with equal shares of positives, or by project."""

from __future__ import annotations

from flakehound.learn.extras import Array


def stratified_folds(positive: Array, folds: int, seed: int) -> list[Array]:
    """The rows of each fold's tests; not more folds than the rarer class has tests, but at least two."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rare_class_size = int(min(positive.sum(), len(positive) - positive.sum()))
    count = max(2, min(folds, rare_class_size))
    fold_of_row = np.zeros(len(positive), dtype=int)
    for label in (0, 1):
        rows = rng.permutation(np.flatnonzero(positive == label))
        # The second class starts at the fold after the last test of the first one: this keeps the folds equally
        # large.
        fold_of_row[rows] = (np.arange(len(rows)) + label * int((positive == 0).sum())) % count
    return [np.flatnonzero(fold_of_row == number) for number in range(count)]


def project_folds(projects: Array) -> list[Array]:
    """The rows of each project's tests, in the order of the project names."""
    import numpy as np

    return [np.flatnonzero(projects == name) for name in sorted(set(projects))]
