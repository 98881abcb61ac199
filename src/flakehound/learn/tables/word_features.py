"""The words of the tests' source as features."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from flakehound.learn.tables.dataset import Dataset, UnusableData

MIN_TESTS_OF_WORD = 50  # rarer words are left out


def with_words(data: Dataset, min_tests: int = MIN_TESTS_OF_WORD) -> Dataset:
    """The data set with a feature `word X` for each word that enough tests have."""
    import numpy as np

    if data.words is None:
        raise UnusableData(f"{data.name!r} has no words of the tests' source")
    words_by_test = [set(text.split()) for text in data.words]
    tests_with_word = Counter(word for words in words_by_test for word in words)
    frequent = sorted(word for word, tests in tests_with_word.items() if tests >= min_tests)
    values = np.array([[word in words for word in frequent] for words in words_by_test], dtype=float)
    return replace(
        data,
        features=(*data.features, *(f"word {word}" for word in frequent)),
        values=np.hstack([data.values, values.reshape(len(data), len(frequent))]),
    )
