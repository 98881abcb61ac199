"""Fit the model that scores tests by what lint reads in their source.

Weights are learned within projects: each signal is compared with its mean over the project, and a project without
both kinds of tests says nothing. So the model learns what sets a flaky test apart from its neighbours, and not
which projects happen to be in the training data. The words of a test count as much for NOD as all other signals
together: a rule and no fit, because the other signals were chosen in view of the training data. How many tests a
project has is a separate term of the chances, fitted afterwards with the constant, so that the chances of all
tests add up to the number of flaky tests. Decision 0040 says how signals and penalties were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from operator import mul
from typing import NamedTuple

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
from flakehound.learn.static.own_files import file_terms
from flakehound.learn.static.words import WORDS_NOD
from flakehound.learn.tables.dataset import UnusableData

_DIGITS = 6  # of weights; further digits may differ between machines
_CALIBRATION_PENALTY = 1.0  # hardly felt; it only decides where a column is constant
_MIN_SLOPE = 0.25  # the ranking within projects must never be turned round by differences between projects


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
    """The signals of a head, and the penalty on their weights."""

    signals: tuple[str, ...]  # whose weights are fitted
    penalty: float  # on squared weights of signals with a standard deviation of 1, per 10,000 tests
    counterweight: str = ""  # a further signal, which counts as much as all others together; "": none

    @property
    def all_signals(self) -> tuple[str, ...]:
        """The fitted signals, and the counterweight last."""
        return (*self.signals, self.counterweight) if self.counterweight else self.signals


# Numbers of rules, sizes, shared state. Longer lists rank the tests of other projects no better (decision 0040).
_SIGNALS = (
    *("rules", "causes", "file rules", "file causes", "rules_network", "file rules_network"),
    *("test_lines_of_code", "assertion_density", "external_modules", "file external_modules"),
    *("called_names", "far_called_names", "reached_functions", "name_words", "string_words"),
    *("file imported_names", "file rules_test_order", "shared_objects", "paths", "file paths", "file patches"),
)
# Of 3,700 and 12,300, in eight folds of the projects of design and choice, this one ranks NOD tests within
# projects better (AUC .700, .689) and order-dependent ones the same (.611).
_PENALTY = 12_300.0
HEAD_SETTINGS: Mapping[str, HeadSettings] = {
    NOD: HeadSettings(signals=_SIGNALS, penalty=_PENALTY, counterweight=WORDS_NOD),
    ORDER_DEPENDENT: HeadSettings(signals=_SIGNALS, penalty=_PENALTY),
}
COLUMNS = tuple(
    dict.fromkeys(
        name.removeprefix(FILE_MEAN_PREFIX) for settings in HEAD_SETTINGS.values() for name in settings.all_signals
    )
)
"""The columns that a training table must have."""


def fit_static_model(samples: Sequence[Sample], digest: str, own_weight: float = 1.0) -> StaticModel:
    """Fit the model to these tests; a project of the team's own counts as much as `own_weight` other projects."""
    heads = {
        kind: _with_own_files(fit_head(samples, kind, HEAD_SETTINGS[kind], own_weight), samples, kind)
        for kind in KINDS
    }
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


def _with_own_files(head: Head, samples: Sequence[Sample], kind: str) -> Head:
    own = [sample for sample in samples if sample.own]
    return replace(head, files=file_terms(head, own, [sample.is_of(kind) for sample in own])) if own else head


class _RowGroup(NamedTuple):
    """The tests that are weighted together: those of one class in one project."""

    project: str
    is_own: bool
    is_positive: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rows:
    """Learned tests of one project, class and equal signals, as one row that counts several times."""

    groups: list[_RowGroup]
    columns: list[list[float]]  # one for each signal
    counts: list[float]
    sizes: list[float]  # logarithm of the number of tests of the project

    @property
    def positive(self) -> list[int]:
        """The class of each row."""
        return [int(group.is_positive) for group in self.groups]


def fit_head(samples: Sequence[Sample], kind: str, settings: HeadSettings, own_weight: float = 1.0) -> Head:
    """Fit the logistic function of one kind."""
    _check_both_classes([sample for sample in samples if sample.learned], kind)
    rows = _rows(samples, kind, settings)
    weights = _weights_within_projects(rows, settings, own_weight)
    slope, size = _slope_and_size(rows, log_odds(rows.columns, weights))
    weights = [round(weight * slope, _DIGITS) for weight in weights]
    mean_size = _mean(rows.sizes, rows.counts)
    odds = [
        own + size * (own_size - mean_size)
        for own, own_size in zip(log_odds(rows.columns, weights), rows.sizes, strict=True)
    ]
    positive = math.fsum(count for count, group in zip(rows.counts, rows.groups, strict=True) if group.is_positive)
    means = [round(_mean(column, rows.counts), _DIGITS) for column in rows.columns]
    return Head(
        constant=round(constant_for(odds, rows.counts, positive), _DIGITS),
        even=round(constant_for(odds, rows.counts, half_of_flaky(samples)), _DIGITS),
        weights=dict(zip(settings.all_signals, weights, strict=True)),
        means=dict(zip(settings.all_signals, means, strict=True)),
        size=size,
        mean_size=round(mean_size, _DIGITS),
    )


def _rows(samples: Sequence[Sample], kind: str, settings: HeadSettings) -> _Rows:
    files = [f"{sample.project} {sample.file}" for sample in samples]
    signals = signals_of([sample.values for sample in samples], files, settings.all_signals)
    counted = Counter(
        (_RowGroup(sample.project, sample.own, sample.is_of(kind)), tuple(own_signals.values()))
        for sample, own_signals in zip(samples, signals, strict=True)
        if sample.learned
    )
    tests = Counter(sample.project for sample in samples)
    return _Rows(
        groups=[group for group, _values in counted],
        columns=[list(column) for column in zip(*(values for _group, values in counted), strict=True)],
        counts=[float(count) for count in counted.values()],
        sizes=[math.log(tests[group.project]) for group, _values in counted],
    )


def _weights_within_projects(rows: _Rows, settings: HeadSettings, own_weight: float) -> list[float]:
    scaled = _within_projects(rows)
    fitted_columns = scaled.columns[: len(settings.signals)]
    penalties = [settings.penalty * math.fsum(rows.counts) / 10_000] * len(settings.signals)
    fitted = fit_logistic(fitted_columns, rows.positive, _row_weights(rows, own_weight), penalties)
    of_columns = list(fitted.of_columns)
    if settings.counterweight:
        # Within projects it spreads the tests as much as the sum of all others does.
        odds = log_odds(fitted_columns, of_columns)
        is_constant = not any(scaled.columns[-1])
        of_columns.append(0.0 if is_constant else math.sqrt(_variance(odds, rows.counts)))
    return [weight / spread for weight, spread in zip(of_columns, scaled.spreads, strict=True)]


def _slope_and_size(rows: _Rows, odds: Sequence[float]) -> tuple[float, float]:
    """By how much to stretch the log odds, and what the size of the project adds, to be calibrated over all tests.

    Weights that are held back spread the chances too little.
    """
    spread = math.sqrt(_variance(odds, rows.counts)) or 1.0
    scaled = [value / spread for value in odds]
    fitted = fit_logistic([scaled, rows.sizes], rows.positive, rows.counts, [_CALIBRATION_PENALTY] * 2)
    slope, size = fitted.of_columns
    return max(slope / spread, _MIN_SLOPE), round(size, _DIGITS)


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
    """Columns as differences from the means of the projects, with standard deviation 1."""

    columns: list[list[float]]
    spreads: list[float]  # the original deviations; 1 if a column is constant in every project


def _within_projects(rows: _Rows) -> _ScaledColumns:
    members: dict[str, list[int]] = {}
    for number, group in enumerate(rows.groups):
        members.setdefault(group.project, []).append(number)
    scaled = _ScaledColumns(columns=[], spreads=[])
    for column in rows.columns:
        centred = list(column)
        for numbers in members.values():
            mean = _mean([column[number] for number in numbers], [rows.counts[number] for number in numbers])
            for number in numbers:
                centred[number] -= mean
        variance = _variance(centred, rows.counts)
        spread = math.sqrt(variance) if variance > 1e-12 else 1.0
        scaled.columns.append([value / spread for value in centred])
        scaled.spreads.append(spread)
    return scaled


def _mean(values: Sequence[float], counts: Sequence[float]) -> float:
    return math.fsum(map(mul, counts, values)) / math.fsum(counts)


def _variance(values: Sequence[float], counts: Sequence[float]) -> float:
    mean = _mean(values, counts)
    return _mean([(value - mean) ** 2 for value in values], counts)


def _row_weights(rows: _Rows, own_weight: float) -> list[float]:
    """How much each row counts: 1 per test on average.

    A project counts as the square root of its flaky tests, and both classes of a project the same.
    """
    tests: dict[_RowGroup, float] = {}
    for group, count in zip(rows.groups, rows.counts, strict=True):
        tests[group] = tests.get(group, 0.0) + count
    weights = []
    for group, count in zip(rows.groups, rows.counts, strict=True):
        flaky = tests.get(group._replace(is_positive=True), 0.0)
        has_both = flaky and group._replace(is_positive=False) in tests
        importance = math.sqrt(flaky) * (own_weight if group.is_own else 1.0)
        weights.append(importance * count / tests[group] if has_both else 0.0)
    total = math.fsum(weights) or 1.0
    scale = math.fsum(rows.counts) / total
    return [weight * scale for weight in weights]
