"""Mean features over several measurements of the same tests (eq. 2 of CANNIER)."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from flakehound.learn.tables.dataset import Dataset, UnusableData


def check_same_tests(tables: Sequence[Dataset]) -> None:
    """Raise UnusableData if tables do not have the same tests and features."""
    first = tables[0]
    for other in tables[1:]:
        if other.features != first.features:
            raise UnusableData(f"{other.name!r} has other features than {first.name!r}")
        if list(other.ids) != list(first.ids) or list(other.projects) != list(first.projects):
            raise UnusableData(f"{other.name!r} has other tests than {first.name!r}, or in another order")


def mean_features(tables: Sequence[Dataset], samples: int, seed: int) -> Dataset:
    """The first table with the mean features of `samples` tables, drawn without replacement."""
    import numpy as np

    drawn = sorted(random.Random(seed).sample(range(len(tables)), min(samples, len(tables))))
    values = np.mean([tables[number].values for number in drawn], axis=0)
    return replace(tables[0], values=values)
