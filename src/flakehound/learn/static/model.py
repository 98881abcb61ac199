"""The model that scores tests by what lint reads in their source: chances of being NOD and order-dependent.

It consists of two logistic functions of a few signals. A signal is the logarithm of a column, of the test itself
or as the mean over the tests of its file. The number of tests of the project shifts the chances of all its tests,
and never their order. A model is plain JSON; scoring needs only the standard library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from flakehound.core.errors import Remedy, UsageError
from flakehound.core.statistics.rates import logistic

SCHEMA = "flakehound/model/4"
NOD, ORDER_DEPENDENT = "nod", "order_dependent"
KINDS = (NOD, ORDER_DEPENDENT)
FILE_MEAN_PREFIX = "file "  # of the name of a signal that is a mean over the tests of a file
Values = Mapping[str, float | None]  # the columns of a test; None counts as 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyChances:
    """The chances of one test by the model."""

    nod: float
    order_dependent: float
    flaky: float  # of at least one kind, as if both were independent and equally frequent


@dataclass(frozen=True, slots=True, kw_only=True)
class LogOdds:
    """What one test adds to the constants of both functions."""

    nod: float
    order_dependent: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The logistic function for one kind of flakiness."""

    constant: float
    # The constant with which both kinds are equally frequent. It is used for the common score, because in the
    # training data order-dependent tests are three times as many as NOD tests and would dominate it.
    even: float
    weights: Mapping[str, float]  # by signal
    means: Mapping[str, float]  # of the signals, over all training tests
    size: float = 0.0  # added for the logarithm of the number of tests of the project, compared with `mean_size`
    mean_size: float = 0.0  # the mean of these logarithms over all training tests
    files: Mapping[str, float] = field(default_factory=dict)  # added for the tests of a file that a team ran

    def evidence(self, signals: Mapping[str, float]) -> float:
        """The log odds that the signals of a test add to the constant."""
        return sum(weight * signals[name] for name, weight in self.weights.items())

    def base_rate(self, project_tests: int | None) -> float:
        """The log odds that the size of the project adds; none if it is not known."""
        return self.size * (math.log(project_tests) - self.mean_size) if project_tests else 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn:
    """The training data of a model."""

    digest: str  # of the training data and of the code that fits
    projects: int
    tests: int
    nod: int
    order_dependent: int
    own_projects: int = 0  # that a team added
    own_tests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticModel:
    """Both functions, and the training data they were fitted to."""

    nod: Head
    order_dependent: Head
    trained_on: TrainedOn

    def chances(
        self, tests: Sequence[Values], files: Sequence[str], project_tests: int | None = None
    ) -> list[FlakyChances]:
        """The chances of each test; `tests` must contain all tests of each file.

        Without the number of tests of the project, the chances are those in a project of usual size.
        """
        return [
            chances_of(self.log_odds(signals, file, project_tests), self)
            for signals, file in zip(self.signals(tests, files), files, strict=True)
        ]

    def signals(self, tests: Sequence[Values], files: Sequence[str]) -> list[dict[str, float]]:
        """All signals of each test."""
        return signals_of(tests, files, [*self.nod.weights, *self.order_dependent.weights])

    def log_odds(self, signals: Mapping[str, float], file: str, project_tests: int | None) -> LogOdds:
        """What is added to the constants of both functions for one test."""
        nod, order_dependent = (
            head.evidence(signals) + head.files.get(file, 0.0) + head.base_rate(project_tests)
            for head in (self.nod, self.order_dependent)
        )
        return LogOdds(nod=nod, order_dependent=order_dependent)


def chances_of(odds: LogOdds, model: StaticModel) -> FlakyChances:
    """The chances of a test with these log odds."""
    nod, order_dependent = model.nod, model.order_dependent
    neither = (1 - logistic(nod.even + odds.nod)) * (1 - logistic(order_dependent.even + odds.order_dependent))
    return FlakyChances(
        nod=logistic(nod.constant + odds.nod),
        order_dependent=logistic(order_dependent.constant + odds.order_dependent),
        flaky=1 - neither,
    )


def signals_of(tests: Sequence[Values], files: Sequence[str], names: Iterable[str]) -> list[dict[str, float]]:
    """The named signals of every test."""
    signals: list[dict[str, float]] = [{} for _ in tests]
    for name in dict.fromkeys(names):
        column_name = name.removeprefix(FILE_MEAN_PREFIX)
        column = [_signed_log(value) if (value := test.get(column_name)) else 0.0 for test in tests]
        if name.startswith(FILE_MEAN_PREFIX):
            column = _means_by_file(column, files)
        for own_signals, signal in zip(signals, column, strict=True):
            own_signals[name] = signal
    return signals


def _means_by_file(column: Sequence[float], files: Sequence[str]) -> list[float]:
    by_file: dict[str, list[float]] = {}
    for file, value in zip(files, column, strict=True):
        by_file.setdefault(file, []).append(value)
    means = {file: math.fsum(values) / len(values) for file, values in by_file.items()}
    return [means[file] for file in files]


def _signed_log(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def value_of(signal: float) -> float:
    """The number that a signal is the logarithm of."""
    return math.copysign(math.expm1(abs(signal)), signal)


def to_json(model: StaticModel) -> str:
    """The model as the text of a file."""
    return json.dumps({"schema": SCHEMA, **asdict(model)}, indent=1, sort_keys=True) + "\n"


class UnusableModel(UsageError):
    """A file that is not a model of this version."""

    def __init__(self, name: str, why: str, remedy: Remedy = "flakehound train") -> None:
        super().__init__(f"{name!r} is not a model that this flakehound can use: {why}", remedy=remedy)
        self.why = why


def from_json(text: str, name: str) -> StaticModel:
    """The model in the text of a file; `name` is for the error."""
    try:
        content = json.loads(text)
        schema = content["schema"]
        if schema != SCHEMA:
            raise UnusableModel(name, f"its schema is {schema!r}, not {SCHEMA!r}")
        heads = {kind: _head_from(content[kind]) for kind in KINDS}
        trained_on = TrainedOn(**content["trained_on"])
        return StaticModel(nod=heads[NOD], order_dependent=heads[ORDER_DEPENDENT], trained_on=trained_on)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UnusableModel(name, f"{type(error).__name__}: {error}") from error


def _head_from(content: Mapping[str, Any]) -> Head:
    head = Head(**content)
    if head.weights.keys() != head.means.keys():
        raise ValueError("its weights and means have different signals")
    single = {name: getattr(head, name) for name in ("constant", "even", "size", "mean_size")}
    for name, value in (*single.items(), *head.weights.items(), *head.means.items(), *head.files.items()):
        if not isinstance(value, int | float) or not math.isfinite(value):
            raise ValueError(f"the weight {name!r} is not a finite number")
    return head
