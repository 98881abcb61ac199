"""Score the words of a test: which of them are commoner in NOD tests than in other tests of the same project.

The weights of the words are data that flakehound ships; `benchmarks/static_training.py` learns them.
"""

from __future__ import annotations

import csv
import gzip
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources

WORDS_NOD = "words_nod"  # the column with the score
FILE = "static_words.csv.gz"
WordWeights = Mapping[str, float]  # a word without a weight says nothing


@cache
def shipped_word_weights() -> WordWeights:
    """The weights of the words for NOD tests; read once."""
    packed = (resources.files("flakehound.learn") / "facts" / FILE).read_bytes()
    rows = csv.DictReader(gzip.decompress(packed).decode("utf-8").splitlines())
    return {row["word"]: float(row["nod"]) for row in rows}


def words_score(words: Iterable[str], weights: WordWeights) -> float:
    """The sum of the weights of these words; in whichever order they come, it is the same number."""
    return math.fsum(weights.get(word, 0.0) for word in words)
