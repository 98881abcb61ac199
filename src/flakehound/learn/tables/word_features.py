"""Words of the tests' source as features, one per word."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from flakehound.learn.tables.dataset import Dataset, UnusableData

LEAST_TESTS = 50  # that have a word; rarer ones are left out, whatever their labels


def with_words(data: Dataset, least: int = LEAST_TESTS) -> Dataset:
    """The data set with a feature `word X` for each word that enough tests have."""
    import numpy as np

    if data.words is None:
        raise UnusableData(f"{data.name!r} has no words of the tests' source")
    texts = [set(text.split()) for text in data.words]
    tests = Counter(word for text in texts for word in text)
    kept = sorted(word for word, times in tests.items() if times >= least)
    values = np.array([[word in text for word in kept] for text in texts], dtype=float)
    return replace(
        data,
        features=(*data.features, *(f"word {word}" for word in kept)),
        values=np.hstack([data.values, values.reshape(len(data), len(kept))]),
    )
