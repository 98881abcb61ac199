"""Fit the model that scores tests by what lint reads in their source.

One project with hundreds of flaky tests must not dominate: within a project, the tests of one class count as the
square root of their number. Both classes have the same weight; afterwards, the constant is set so that the chances
of all tests add up to the number of flaky tests. Decision 0023 says how signals and penalties were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from flakehound.core.vocabulary import WORDS, column_of
from flakehound.learn.models.logistic import constant_for, fit_logistic, log_odds
from flakehound.learn.static.model import (
    FILE_MEAN_PREFIX,
    KINDS,
    NOD,
    ORDER_DEPENDENT,
    Head,
    StaticModel,
    TrainedOn,
    signals_of,
)
from flakehound.learn.tables.dataset import UnusableData

_DIGITS = 6  # of weights; further digits may differ between machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One test of the training data."""

    project: str
    file: str
    values: Mapping[str, float]  # columns that lint measures
    nod: bool
    order_dependent: bool
    own: bool = False  # it belongs to the team that trains the model
    learned: bool = True  # False: its kind is unknown, so it only counts in the means of its file

    def is_of(self, kind: str) -> bool:
        """Whether the test is flaky in this way."""
        return self.nod if kind == NOD else self.order_dependent


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSettings:
    """The signals of a head, and their penalties."""

    signals: tuple[str, ...]
    penalty: float  # on squared weights of signals with a standard deviation of 1, per 10,000 tests
    words: tuple[str, ...] = ()  # further signals, each of them weak
    words_penalty: float = 4000.0

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all signals."""
        return (*self.signals, *self.words)

    @property
    def penalties(self) -> list[float]:
        """The penalty of each signal."""
        return [self.penalty] * len(self.signals) + [self.words_penalty] * len(self.words)


_RULE_SIGNALS = ("rules", "causes", "file rules", "file causes")
_NETWORK_SIGNALS = ("rules_network", "file rules_network")
_STATE_SIGNALS = ("file patches", "file state_in_tests", "file state_in_production", "file rules_test_order")
_FILE_SYSTEM_AND_IMPORT_SIGNALS = ("file paths", "set_at_import")
_WORD_SIGNALS = tuple(FILE_MEAN_PREFIX + column_of(word) for word in WORDS)
HEAD_SETTINGS: Mapping[str, HeadSettings] = {
    NOD: HeadSettings(signals=(*_RULE_SIGNALS, *_NETWORK_SIGNALS), penalty=1300.0),
    ORDER_DEPENDENT: HeadSettings(
        signals=(*_RULE_SIGNALS, *_STATE_SIGNALS, *_FILE_SYSTEM_AND_IMPORT_SIGNALS),
        penalty=130.0,
        words=_WORD_SIGNALS,
    ),
}
COLUMNS = tuple(
    dict.fromkeys(
        name.removeprefix(FILE_MEAN_PREFIX) for settings in HEAD_SETTINGS.values() for name in settings.names
    )
)
"""The columns that a training table must have."""


def fit_static_model(samples: Sequence[Sample], digest: str, own_weight: float = 1.0) -> StaticModel:
    """Fit the model to these tests; a project of the team's own counts as much as `own_weight` other projects."""
    heads = {kind: fit_head(samples, kind, HEAD_SETTINGS[kind], own_weight) for kind in KINDS}
    learned = [sample for sample in samples if sample.learned]
    own = [sample for sample in learned if sample.own]
    return StaticModel(
        nod=heads[NOD],
        order_dependent=heads[ORDER_DEPENDENT],
        trained_on=TrainedOn(
            digest=digest,
            projects=len({sample.project for sample in learned}),
            tests=len(learned),
            nod=sum(sample.nod for sample in learned),
            order_dependent=sum(sample.order_dependent for sample in learned),
            own_projects=len({sample.project for sample in own}),
            own_tests=len(own),
        ),
    )


class _RowGroup(NamedTuple):
    """The tests that are weighted together: those of one class in one project."""

    project: str
    is_own: bool
    is_positive: bool


def fit_head(samples: Sequence[Sample], kind: str, settings: HeadSettings, own_weight: float = 1.0) -> Head:
    """Fit the logistic function of one kind."""
    _check_both_classes([sample for sample in samples if sample.learned], kind)
    files = [f"{sample.project} {sample.file}" for sample in samples]
    signals = signals_of([sample.values for sample in samples], files, settings.names)
    # Many tests of a file have equal signals; they become one row that counts several times.
    rows = Counter(
        (_RowGroup(sample.project, sample.own, sample.is_of(kind)), tuple(own_signals.values()))
        for sample, own_signals in zip(samples, signals, strict=True)
        if sample.learned
    )
    groups, values = [group for group, _values in rows], [values for _group, values in rows]
    counts = [float(count) for count in rows.values()]
    scaled = _scale(values, counts)
    penalties = [penalty * math.fsum(counts) / 10_000 for penalty in settings.penalties]
    fitted = fit_logistic(
        scaled.columns,
        [int(group.is_positive) for group in groups],
        _row_weights(groups, counts, own_weight),
        penalties,
    )
    weights = [round(w / spread, _DIGITS) for w, spread in zip(fitted.of_columns, scaled.spreads, strict=True)]
    odds = log_odds([list(column) for column in zip(*values, strict=True)], weights)
    positive = math.fsum(count for count, group in zip(counts, groups, strict=True) if group.is_positive)
    return Head(
        constant=round(constant_for(odds, counts, positive), _DIGITS),
        even=round(constant_for(odds, counts, half_of_flaky(samples)), _DIGITS),
        weights=dict(zip(settings.names, weights, strict=True)),
        means=dict(zip(settings.names, (round(mean, _DIGITS) for mean in scaled.means), strict=True)),
    )


def half_of_flaky(samples: Sequence[Sample]) -> float:
    """How many tests would be of each kind if both kinds were equally frequent."""
    return sum(sample.nod + sample.order_dependent for sample in samples if sample.learned) / 2


def _check_both_classes(samples: Sequence[Sample], kind: str) -> None:
    positive = sum(sample.is_of(kind) for sample in samples)
    if positive in (0, len(samples)):
        word = "none" if positive == 0 else "every one"
        raise UnusableData(
            f"of {len(samples)} tests {word} is {kind.replace('_', '-')}: a model needs both classes"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _ScaledColumns:
    """Columns with mean 0 and standard deviation 1, and their original means and deviations."""

    columns: list[list[float]]
    means: list[float]
    spreads: list[float]  # 1 if a column is constant


def _scale(rows: Sequence[tuple[float, ...]], counts: Sequence[float]) -> _ScaledColumns:
    """Scale the columns of rows that each count several times."""
    total = math.fsum(counts)
    scaled = _ScaledColumns(columns=[], means=[], spreads=[])
    for column in zip(*rows, strict=True):
        mean = math.fsum(n * value for n, value in zip(counts, column, strict=True)) / total
        variance = math.fsum(n * (value - mean) ** 2 for n, value in zip(counts, column, strict=True)) / total
        spread = math.sqrt(variance) if variance > 1e-12 else 1.0
        scaled.columns.append([(value - mean) / spread for value in column])
        scaled.means.append(mean)
        scaled.spreads.append(spread)
    return scaled


def _row_weights(groups: Sequence[_RowGroup], counts: Sequence[float], own_weight: float) -> list[float]:
    """How much each row counts: 1 per test on average, and the same for both classes in total."""
    group_sizes: dict[_RowGroup, float] = {}
    for group, count in zip(groups, counts, strict=True):
        group_sizes[group] = group_sizes.get(group, 0.0) + count
    weights = [
        count / math.sqrt(group_sizes[group]) * (own_weight if group.is_own else 1.0)
        for group, count in zip(groups, counts, strict=True)
    ]
    class_sums = {
        label: math.fsum(w for w, group in zip(weights, groups, strict=True) if group.is_positive is label)
        for label in (True, False)
    }
    half = math.fsum(counts) / 2
    return [weight * half / class_sums[group.is_positive] for weight, group in zip(weights, groups, strict=True)]
