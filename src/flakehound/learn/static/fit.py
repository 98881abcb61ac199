"""Fit the model of what lint measures.

One project with hundreds of flaky tests must not decide: within a project, tests of a kind count as the square
root of their number. Both classes weigh the same; afterwards the constant is set so that the chances add up to the
number of tests of that kind. Decision 0023 says how signals and penalty were chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from flakehound.core.vocabulary import WORDS, column_of
from flakehound.learn.models.logistic import constant_for, fit_logistic, log_odds
from flakehound.learn.static.model import (
    KINDS,
    NOD,
    OF_FILE,
    ORDER_DEPENDENT,
    Head,
    StaticModel,
    TrainedOn,
    signals_of,
)
from flakehound.learn.tables.dataset import UnusableData

_DIGITS = 6  # of weights: what lies behind may differ between machines


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One test whose kind is known."""

    project: str
    file: str
    values: Mapping[str, float]  # columns that lint measures
    nod: bool
    order_dependent: bool
    own: bool = False  # of the team that trains
    learned: bool = True  # False: of unknown kind; it only counts in the means over its file

    def is_of(self, kind: str) -> bool:
        """Whether it is flaky in this way."""
        return self.nod if kind == NOD else self.order_dependent


@dataclass(frozen=True, slots=True, kw_only=True)
class HeadSettings:
    """What a head looks at, and how strongly it is held back."""

    signals: tuple[str, ...]
    penalty: float  # on squared weights of signals with a deviation of 1, per 10,000 tests
    words: tuple[str, ...] = ()  # further signals, each weak by itself
    words_penalty: float = 4000.0

    @property
    def names(self) -> tuple[str, ...]:
        """All signals."""
        return (*self.signals, *self.words)

    @property
    def penalties(self) -> list[float]:
        """One for each of them."""
        return [self.penalty] * len(self.signals) + [self.words_penalty] * len(self.words)


_RULES = ("rules", "causes", "file rules", "file causes")
_NETWORK = ("rules_network", "file rules_network")
_STATE = ("file patches", "file state_in_tests", "file state_in_production", "file rules_test_order")
_TRACES = ("file paths", "set_at_import")
_WORDS = tuple(OF_FILE + column_of(word) for word in WORDS)
HEAD_SETTINGS: Mapping[str, HeadSettings] = {
    NOD: HeadSettings(signals=(*_RULES, *_NETWORK), penalty=1300.0),
    ORDER_DEPENDENT: HeadSettings(signals=(*_RULES, *_STATE, *_TRACES), penalty=130.0, words=_WORDS),
}
COLUMNS = tuple(
    dict.fromkeys(name.removeprefix(OF_FILE) for form in HEAD_SETTINGS.values() for name in form.names)
)
"""The columns that a table needs to be learned from."""


def fit_static_model(samples: Sequence[Sample], digest: str, own_weight: float = 1.0) -> StaticModel:
    """The model for these tests; a project of the team's own counts as `own_weight` others."""
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


def fit_head(samples: Sequence[Sample], kind: str, form: HeadSettings, own_weight: float = 1.0) -> Head:
    """The logistic function for one kind."""
    _check_both_classes([sample for sample in samples if sample.learned], kind)
    files = [f"{sample.project} {sample.file}" for sample in samples]
    signals = signals_of([sample.values for sample in samples], files, form.names)
    # Tests of one file are often alike to the model; alike ones are one row that counts for several.
    alike = Counter(
        (sample.project, sample.own, sample.is_of(kind), tuple(found.values()))
        for sample, found in zip(samples, signals, strict=True)
        if sample.learned
    )
    rows, numbers = list(alike), [float(number) for number in alike.values()]
    wanted = [int(yes) for _project, _own, yes, _values in rows]
    scaled = _scaled([values for *_, values in rows], numbers)
    shares = _shares([(project, own, yes) for project, own, yes, _values in rows], numbers, own_weight)
    held_back = [penalty * math.fsum(numbers) / 10_000 for penalty in form.penalties]
    found = fit_logistic(scaled.columns, wanted, shares, held_back)
    weights = [round(one / spread, _DIGITS) for one, spread in zip(found.of_columns, scaled.spreads, strict=True)]
    plain = [list(column) for column in zip(*(values for *_, values in rows), strict=True)]
    odds = log_odds(plain, weights)
    positive = math.fsum(number for number, yes in zip(numbers, wanted, strict=True) if yes)
    constant, even = (constant_for(odds, numbers, many) for many in (positive, half_of_flaky(samples)))
    return Head(
        constant=round(constant, _DIGITS),
        even=round(even, _DIGITS),
        weights=dict(zip(form.names, weights, strict=True)),
        means=dict(zip(form.names, (round(one, _DIGITS) for one in scaled.means), strict=True)),
    )


def half_of_flaky(samples: Sequence[Sample]) -> float:
    """How many tests were of either kind if both were equally frequent."""
    return sum(sample.nod + sample.order_dependent for sample in samples if sample.learned) / 2


def _check_both_classes(samples: Sequence[Sample], kind: str) -> None:
    number = sum(sample.is_of(kind) for sample in samples)
    if number in (0, len(samples)):
        told = "none" if number == 0 else "every one"
        raise UnusableData(f"of {len(samples)} tests {told} is {kind.replace('_', '-')}: a model needs both sorts")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Scaled:
    """Columns with mean 0 and deviation 1, and what they had."""

    columns: list[list[float]]
    means: list[float]
    spreads: list[float]  # 1 where a column never varies


def _scaled(rows: Sequence[tuple[float, ...]], numbers: Sequence[float]) -> _Scaled:
    """The values of the rows, each counted so many times."""
    total = math.fsum(numbers)
    found = _Scaled(columns=[], means=[], spreads=[])
    for column in zip(*rows, strict=True):
        mean = math.fsum(n * value for n, value in zip(numbers, column, strict=True)) / total
        square = math.fsum(n * (value - mean) ** 2 for n, value in zip(numbers, column, strict=True)) / total
        spread = math.sqrt(square) if square > 1e-12 else 1.0
        found.columns.append([(value - mean) / spread for value in column])
        found.means.append(mean)
        found.spreads.append(spread)
    return found


def _shares(groups: Sequence[tuple[str, bool, bool]], numbers: Sequence[float], own_weight: float) -> list[float]:
    """How much each row counts; 1 per test in the mean, both classes together the same."""
    many: dict[tuple[str, bool, bool], float] = {}
    for group, number in zip(groups, numbers, strict=True):
        many[group] = many.get(group, 0.0) + number
    found = [
        number / math.sqrt(many[group]) * (own_weight if group[1] else 1.0)
        for group, number in zip(groups, numbers, strict=True)
    ]
    sums = {
        yes: math.fsum(one for one, group in zip(found, groups, strict=True) if group[2] is yes)
        for yes in (True, False)
    }
    half = math.fsum(numbers) / 2
    return [one * half / sums[group[2]] for one, group in zip(found, groups, strict=True)]
