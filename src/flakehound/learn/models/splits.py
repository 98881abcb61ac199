"""Split tests into folds: by chance with equal shares of positives, or by project."""

from __future__ import annotations

from flakehound.learn.extras import Array


def stratified_folds(positive: Array, folds: int, seed: int) -> list[Array]:
    """Places of each fold's tests; as many folds as the rarer class has tests, at most the number asked for."""
    import numpy as np

    rng = np.random.default_rng(seed)
    rare = int(min(positive.sum(), len(positive) - positive.sum()))
    count = max(2, min(folds, rare))
    fold = np.zeros(len(positive), dtype=int)
    for label in (0, 1):
        places = rng.permutation(np.flatnonzero(positive == label))
        # The rarer class begins where the other one ended, so that folds stay equally large.
        fold[places] = (np.arange(len(places)) + label * int((positive == 0).sum())) % count
    return [np.flatnonzero(fold == number) for number in range(count)]


def project_folds(projects: Array) -> list[Array]:
    """One fold per project, by name."""
    import numpy as np

    return [np.flatnonzero(projects == name) for name in sorted(set(projects))]
