"""A model of what lint measures: the chances that a test is NOD and that it depends on the order.

Two logistic functions of a few signals. A signal is the logarithm of a column, of the test itself or as the mean
over the tests of its file. A model is plain JSON; scoring needs the standard library only.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from flakehound.core.errors import Remedy, UsageError
from flakehound.core.statistics.rates import logistic

SCHEMA = "flakehound/model/2"
NOD, ORDER_DEPENDENT = "nod", "order_dependent"
KINDS = (NOD, ORDER_DEPENDENT)
OF_FILE = "file "  # begins the name of a signal that is a mean over the tests of a file
Values = Mapping[str, float | None]  # a test's columns; None is 0


@dataclass(frozen=True, slots=True, kw_only=True)
class FlakyChances:
    """What the model says of one test."""

    nod: float
    order_dependent: float
    flaky: float  # at least one of them, as if they were independent and equally frequent


@dataclass(frozen=True, slots=True, kw_only=True)
class Head:
    """The logistic function for one kind of flakiness."""

    constant: float
    # The constant with which both kinds are equally frequent, so that neither hides the other in one score: among
    # the tests that we learn from, order-dependent ones are three times as many as NOD ones.
    even: float
    weights: Mapping[str, float]  # by signal
    means: Mapping[str, float]  # of the signals, over all tests that were learned from

    def evidence(self, signals: Mapping[str, float]) -> float:
        """What the signals of a test add to the constant."""
        return sum(weight * signals[name] for name, weight in self.weights.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedOn:
    """What a model has seen."""

    digest: str  # of the training data and of the way to fit
    projects: int
    tests: int
    nod: int
    order_dependent: int
    own_projects: int = 0  # those that a team added
    own_tests: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticModel:
    """Both functions, and what they were fitted on."""

    nod: Head
    order_dependent: Head
    trained_on: TrainedOn

    def chances(self, tests: Sequence[Values], files: Sequence[str]) -> list[FlakyChances]:
        """What it says of each test; the tests of a file have to be there together."""
        return [chances_of(self.nod, self.order_dependent, one) for one in self.signals(tests, files)]

    def signals(self, tests: Sequence[Values], files: Sequence[str]) -> list[dict[str, float]]:
        """All that it looks at, of each test."""
        return signals_of(tests, files, [*self.nod.weights, *self.order_dependent.weights])


def chances_of(nod: Head, order_dependent: Head, signals: Mapping[str, float]) -> FlakyChances:
    """What both functions say of a test with these signals."""
    for_nod, for_order = nod.evidence(signals), order_dependent.evidence(signals)
    neither = (1 - logistic(nod.even + for_nod)) * (1 - logistic(order_dependent.even + for_order))
    return FlakyChances(
        nod=logistic(nod.constant + for_nod),
        order_dependent=logistic(order_dependent.constant + for_order),
        flaky=1 - neither,
    )


def signals_of(tests: Sequence[Values], files: Sequence[str], names: Iterable[str]) -> list[dict[str, float]]:
    """The named signals of every test."""
    found: list[dict[str, float]] = [{} for _ in tests]
    for name in dict.fromkeys(names):
        column_name = name.removeprefix(OF_FILE)
        column = [_logarithm(value) if (value := test.get(column_name)) else 0.0 for test in tests]
        if name.startswith(OF_FILE):
            column = _means_by_file(column, files)
        for signals, signal in zip(found, column, strict=True):
            signals[name] = signal
    return found


def _means_by_file(column: Sequence[float], files: Sequence[str]) -> list[float]:
    by_file: dict[str, list[float]] = {}
    for file, value in zip(files, column, strict=True):
        by_file.setdefault(file, []).append(value)
    means = {file: math.fsum(values) / len(values) for file, values in by_file.items()}
    return [means[file] for file in files]


def _logarithm(value: float) -> float:
    return math.copysign(math.log1p(abs(value)), value)


def as_text(model: StaticModel) -> str:
    """The model as JSON."""
    return json.dumps({"schema": SCHEMA, **asdict(model)}, indent=1, sort_keys=True) + "\n"


class UnusableModel(UsageError):
    """A file that is no model of ours."""

    def __init__(self, name: str, why: str, remedy: Remedy = "flakehound train") -> None:
        super().__init__(f"{name!r} is no model that this flakehound can use: {why}", remedy=remedy)
        self.why = why


def from_text(text: str, name: str) -> StaticModel:
    """The model that a file holds; `name` is for the error."""
    try:
        told = json.loads(text)
        schema = told["schema"]
        if schema != SCHEMA:
            raise UnusableModel(name, f"its schema is {schema!r}, not {SCHEMA!r}")
        heads = {kind: _head(told[kind]) for kind in KINDS}
        return StaticModel(
            nod=heads[NOD], order_dependent=heads[ORDER_DEPENDENT], trained_on=TrainedOn(**told["trained_on"])
        )
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UnusableModel(name, f"{type(problem).__name__}: {problem}") from problem


def _head(told: Mapping[str, Any]) -> Head:
    weights, means = dict(told["weights"]), dict(told["means"])
    numbers = [("constant", told["constant"]), ("even", told["even"]), *weights.items(), *means.items()]
    bad = [name for name, one in numbers if not isinstance(one, int | float) or not math.isfinite(one)]
    if bad:
        raise ValueError(f"the weight {bad[0]!r} is no finite number")
    if weights.keys() != means.keys():
        raise ValueError("its weights and means are of other signals")
    return Head(constant=told["constant"], even=told["even"], weights=weights, means=means)
