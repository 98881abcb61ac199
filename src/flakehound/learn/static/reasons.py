"""Say in one line what makes lint's model take a test for flaky.

In a linear model what a signal adds, compared with its mean, is its Shapley value: no sampling is needed.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from flakehound.core.statistics.rates import logistic
from flakehound.core.vocabulary import WORDS, column_of
from flakehound.learn.static.model import OF_FILE, FlakyChances, Head, StaticModel, Values, chances_of

MOST = 3  # signals that are named
LEAST = 0.05  # log odds; less is not worth a word
_WORDS = frozenset(OF_FILE + column_of(word) for word in WORDS)
WORDS_OF_FILE = "words of the file"


def explained_chances(
    model: StaticModel, tests: Sequence[Values], files: Sequence[str]
) -> list[tuple[FlakyChances, str]]:
    """What the model says of each test, and why; the tests of a file have to be there together."""
    return [
        (chances_of(model.nod, model.order_dependent, signals), _reason(model, signals))
        for signals in model.signals(tests, files)
    ]


def _reason(model: StaticModel, signals: Mapping[str, float]) -> str:
    """Of the kind that the score owes more to."""
    heads = {"NOD": model.nod, "order-dependent": model.order_dependent}
    kind = max(heads, key=lambda name: logistic(heads[name].even + heads[name].evidence(signals)))
    added = contributions(heads[kind], signals)
    order = sorted(added, key=lambda name: -added[name])[:MOST]
    told = ", ".join(_told(name, added[name], signals) for name in order if added[name] >= LEAST)
    return f"{kind}: {told}" if told else "nothing speaks for it"


def contributions(head: Head, signals: Mapping[str, float]) -> dict[str, float]:
    """What each signal adds to the log odds of a test that is average in all; words together."""
    found: dict[str, float] = {}
    for name, weight in head.weights.items():
        label = WORDS_OF_FILE if name in _WORDS else name
        found[label] = found.get(label, 0.0) + weight * (signals[name] - head.means[name])
    return found


def _told(name: str, added: float, signals: Mapping[str, float]) -> str:
    return " ".join([_spoken(name), *_amount(name, signals), f"({added:+.2f})"])


def _spoken(name: str) -> str:
    where = " over the file" if name.startswith(OF_FILE) else ""
    return name.removeprefix(OF_FILE).replace("_", " ") + where


def _amount(name: str, signals: Mapping[str, float]) -> Iterator[str]:
    """How much of it there is, where that is one number."""
    if name in signals:
        yield f"{math.expm1(signals[name]):.2g}"
