"""Explain in one line which signals raise the score of a test most.

In a linear model, the difference between a signal and its mean, times its weight, is its Shapley value: no
sampling is needed.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from flakehound.core.statistics.rates import logistic
from flakehound.core.vocabulary import WORDS, column_of
from flakehound.learn.static.model import FILE_MEAN_PREFIX, FlakyChances, Head, StaticModel, Values, chances_of

MAX_NAMED_SIGNALS = 3
MIN_CONTRIBUTION = 0.05  # log odds; a signal that adds less is not named
WORDS_OF_FILE = "words of the file"
_WORD_SIGNALS = frozenset(FILE_MEAN_PREFIX + column_of(word) for word in WORDS)


def explained_chances(
    model: StaticModel, tests: Sequence[Values], files: Sequence[str]
) -> list[tuple[FlakyChances, str]]:
    """The chances of each test, and the reason; `tests` must contain all tests of each file."""
    return [
        (chances_of(model.nod, model.order_dependent, signals), _reason(model, signals))
        for signals in model.signals(tests, files)
    ]


def _reason(model: StaticModel, signals: Mapping[str, float]) -> str:
    """The signals that raise the score most, for the kind that contributes more to the score."""
    heads = {"NOD": model.nod, "order-dependent": model.order_dependent}
    kind = max(heads, key=lambda name: logistic(heads[name].even + heads[name].evidence(signals)))
    added = contributions(heads[kind], signals)
    largest = sorted(added, key=lambda name: -added[name])[:MAX_NAMED_SIGNALS]
    parts = [_signal_text(name, added[name], signals) for name in largest if added[name] >= MIN_CONTRIBUTION]
    return f"{kind}: {', '.join(parts)}" if parts else "nothing speaks for it"


def contributions(head: Head, signals: Mapping[str, float]) -> dict[str, float]:
    """How many log odds each signal adds, compared with an average test; all words are added up."""
    added: dict[str, float] = {}
    for name, weight in head.weights.items():
        label = WORDS_OF_FILE if name in _WORD_SIGNALS else name
        added[label] = added.get(label, 0.0) + weight * (signals[name] - head.means[name])
    return added


def _signal_text(name: str, added: float, signals: Mapping[str, float]) -> str:
    where = " over the file" if name.startswith(FILE_MEAN_PREFIX) else ""
    readable_name = name.removeprefix(FILE_MEAN_PREFIX).replace("_", " ") + where
    # The words of a file have no common value.
    value = [f"{math.expm1(signals[name]):.2g}"] if name in signals else []
    return " ".join([readable_name, *value, f"({added:+.2f})"])
