"""Explain in one line which signals raise the score of a test most.

In a linear model, the difference between a signal and its mean, times its weight, is its Shapley value: no
sampling is needed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from flakehound.core.statistics.rates import logistic
from flakehound.learn.static.model import (
    FILE_MEAN_PREFIX,
    FlakyChances,
    Head,
    LogOdds,
    StaticModel,
    Values,
    chances_of,
    value_of,
)
from flakehound.learn.static.words import WORDS_NOD

MAX_NAMED_SIGNALS = 3
MIN_CONTRIBUTION = 0.05  # log odds; a signal that adds less is not named
FLAKY_BEFORE = "flaky tests seen in the file"
_READABLE_NAMES = {WORDS_NOD: "words of NOD tests"}


def explained_chances(
    model: StaticModel, tests: Sequence[Values], files: Sequence[str], project_tests: int | None = None
) -> list[tuple[FlakyChances, str]]:
    """The chances of each test, and the reason; `tests` must contain all tests of each file."""
    explained = []
    for signals, file in zip(model.signals(tests, files), files, strict=True):
        odds = model.log_odds(signals, file, project_tests)
        explained.append((chances_of(odds, model), _reason(model, signals, file, odds)))
    return explained


def _reason(model: StaticModel, signals: Mapping[str, float], file: str, odds: LogOdds) -> str:
    """The signals that raise the score most, for the kind that contributes more to the score."""
    is_nod = logistic(model.nod.even + odds.nod) >= logistic(model.order_dependent.even + odds.order_dependent)
    kind, head = ("NOD", model.nod) if is_nod else ("order-dependent", model.order_dependent)
    added = {**contributions(head, signals), FLAKY_BEFORE: head.files.get(file, 0.0)}
    largest = sorted(added, key=lambda name: -added[name])[:MAX_NAMED_SIGNALS]
    parts = [_signal_text(name, added[name], signals) for name in largest if added[name] >= MIN_CONTRIBUTION]
    return f"{kind}: {', '.join(parts)}" if parts else "nothing speaks for it"


def contributions(head: Head, signals: Mapping[str, float]) -> dict[str, float]:
    """How many log odds each signal adds, compared with an average test."""
    return {name: weight * (signals[name] - head.means[name]) for name, weight in head.weights.items()}


def _signal_text(name: str, added: float, signals: Mapping[str, float]) -> str:
    where = " over the file" if name.startswith(FILE_MEAN_PREFIX) else ""
    column = name.removeprefix(FILE_MEAN_PREFIX)
    readable_name = _READABLE_NAMES.get(column, column.replace("_", " ")) + where
    # What was seen in the file is no signal, so it has no value.
    value = [f"{value_of(signals[name]):.2g}"] if name in signals else []
    return " ".join([readable_name, *value, f"({added:+.2f})"])
